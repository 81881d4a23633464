/**
 * The thread that writes to a busy ledger. `ThreadWriter` starts it and sends it batches of orders. It has its own
 * connection and its own heads: for each other, the two threads are like two processes.
 */
import type { MessagePort } from 'node:worker_threads';
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase, prepareValue } from './database.ts';
import type { TrustedSessions } from './heads.ts';
import { LogState } from './log-state.ts';
import type { IndexSpan } from './own-index.ts';
import type { OrderMemory, PlainAnswer } from './order-buffer.ts';
import { OrderBuffer } from './order-buffer.ts';
import type { OrderExecutor } from './order-executor.ts';
import type { OpenedFile } from './sqlite-own-files.ts';
import { SqliteOwnFiles } from './sqlite-own-files.ts';
import type { ThreadError } from './thread-error.ts';
import { toThreadError } from './thread-error.ts';
import type { WriteJob } from './write-job.ts';
import type { OrderAnswer, WriteOrder } from './write-order.ts';
import type { WriteSettings } from './write-parts.ts';
import { createWriteParts, setUpToWrite } from './write-parts.ts';

export type WriterThreadData = {
  readonly path: string;
  readonly ledgerId: string;
  readonly ownerId: string;
  readonly longestTail: number;
  readonly settings: WriteSettings;
  /** The files that the main thread has open. */
  readonly opened: readonly OpenedFile[];
  /** Of `LogState`. */
  readonly logMemory: SharedArrayBuffer;
};

/** A batch to write: a buffer, how many orders it has, its memory if that is new, and what the main thread knows. */
export type SentBatch = {
  readonly buffer: number;
  readonly count: number;
  readonly memory: OrderMemory | undefined;
  /** Without it the thread would check the index of each session again. */
  readonly trusted: TrustedSessions | undefined;
  /** Has the main thread written since it sent the last batch? */
  readonly isAfterMain: boolean;
};
export type ThreadRequest = SentBatch | 'end';

/** A written batch, with the answers that are not in the memory of its buffer. */
export type BatchReply = { readonly buffer: number; readonly others: readonly OtherAnswer[] | undefined };
export type ThreadReply = 'ready' | BatchReply;
export type OtherAnswer =
  | { readonly index: number; readonly answer: OrderAnswer }
  | { readonly index: number; readonly error: ThreadError };

/** A batch that is being written. */
class Batch {
  readonly #buffer: number;
  readonly #memory: OrderBuffer;
  readonly #reply: (reply: ThreadReply) => void;
  readonly #others: OtherAnswer[] = [];
  readonly count: number;
  #unanswered: number;
  /** Orders performed in the current transaction. */
  #performed = 0;

  constructor(buffer: number, memory: OrderBuffer, count: number, reply: (reply: ThreadReply) => void) {
    this.#buffer = buffer;
    this.#memory = memory;
    this.count = count;
    this.#unanswered = count;
    this.#reply = reply;
  }

  /** Before the commit: stores the answer, and publishes the batch if all of it is in this transaction. */
  prepare(index: number, answer: OrderAnswer, ownSpan: IndexSpan): void {
    this.#memory.answer(index, toPlain(answer));
    this.#memory.ownSpan = ownSpan;
    if (++this.#performed === this.count) this.#memory.publish();
  }

  rolledBack(): void {
    this.#performed = 0;
    this.#memory.unpublish();
  }

  committed(tookMs: number): void {
    this.#performed = 0;
    this.#memory.commitMs = tookMs;
  }

  answered(index: number, answer: OrderAnswer): void {
    if (toPlain(answer) === undefined) this.#others.push({ index, answer });
    this.#countDown();
  }

  failed(index: number, error: unknown): void {
    this.#memory.answer(index, undefined);
    this.#others.push({ index, error: toThreadError(error) });
    this.#countDown();
  }

  #countDown(): void {
    if (--this.#unanswered > 0) return;
    this.#reply({ buffer: this.#buffer, others: this.#others.length === 0 ? undefined : this.#others });
  }
}

function toPlain(answer: OrderAnswer): PlainAnswer | undefined {
  if (answer.type !== 'append') return undefined;
  const { result, stored } = answer;
  if (result.status === 'conflict') return { status: 'conflict', version: result.version };
  if (result.status !== 'appended' || stored === undefined) return undefined;
  return { status: 'appended', version: result.version, stored };
}

class BatchJob implements WriteJob {
  readonly batch: Batch;
  readonly index: number;
  readonly #order: WriteOrder;
  readonly #executor: OrderExecutor;
  readonly #performed: BatchJob[];
  answer: OrderAnswer | undefined;

  constructor(
    batch: Batch,
    index: number,
    order: WriteOrder,
    executor: OrderExecutor,
    performed: BatchJob[],
  ) {
    this.batch = batch;
    this.index = index;
    this.#order = order;
    this.#executor = executor;
    this.#performed = performed;
  }

  perform(): void {
    this.answer = this.#executor.perform(this.#order);
    this.#performed.push(this);
  }

  isKept(): boolean {
    return this.#executor.isKept(this.#order, this.answer);
  }

  resolve(): void {
    this.batch.answered(this.index, this.answer as OrderAnswer); // it was performed
  }

  reject(error: unknown): void {
    this.batch.failed(this.index, error);
  }
}

if (parentPort !== null) serve(parentPort, workerData as WriterThreadData);

function serve(port: MessagePort, data: WriterThreadData): void {
  const database = openDatabase(data.path, { mustExist: true });
  setUpToWrite(database, data.settings);
  const ledgerId = prepareValue<string>(database, 'SELECT ledger_id FROM ledger').get();
  if (ledgerId !== data.ledgerId) throw new Error(`${data.path} is another ledger than before.`);
  /** Jobs performed in the current transaction. */
  const performed: BatchJob[] = [];
  let beganMs = 0;
  const { heads, executor, writer } = createWriteParts(
    database,
    {
      ...data,
      files: new SqliteOwnFiles(data.path, data.opened),
      log: new LogState(data.logMemory),
    },
    {
      began: () => {
        beganMs = performance.now();
      },
      ending: () => {
        for (const { batch, index, answer } of performed)
          batch.prepare(index, answer as OrderAnswer, heads.ownIndex.span);
      },
      committed: () => {
        const tookMs = performance.now() - beganMs;
        for (const { batch } of performed.splice(0)) batch.committed(tookMs);
      },
      rolledBack: () => {
        for (const { batch } of performed.splice(0)) batch.rolledBack();
      },
    },
  );
  const buffers = new Map<number, OrderBuffer>();
  const reply = (events: ThreadReply): void => port.postMessage(events);

  const begin = ({ buffer, count, memory, trusted, isAfterMain }: SentBatch): void => {
    if (isAfterMain) writer.expectOther();
    if (trusted !== undefined) heads.trust(trusted);
    if (memory !== undefined) buffers.set(buffer, new OrderBuffer(memory));
    const shared = buffers.get(buffer) as OrderBuffer; // the first batch of each buffer has its memory
    const batch = new Batch(buffer, shared, count, reply);
    for (const [index, order] of shared.read(count).entries())
      writer.add(new BatchJob(batch, index, order, executor, performed));
  };

  const end = async (): Promise<void> => {
    await writer.close();
    database.close();
    port.close();
  };

  port.on('message', (request: ThreadRequest) => {
    if (request === 'end') void end();
    else begin(request);
  });
  // Reads the newest entries before the first batch has to wait for it.
  heads.refresh();
  reply('ready');
}
