/**
 * The main thread's side of the writer thread: sends it batches of orders and takes its answers.
 *
 * 1. The thread starts when the load first demands it. Until it is ready, the main thread writes.
 * 2. It keeps the process alive only while it has orders.
 * 3. One answered batch is handled per turn of the event loop. Node delivers messages as long as there are some, and
 *    callers who get answers send more: timers and sockets would wait.
 * 4. If it ends by itself, SQLite has committed or rolled back what it was writing. The file tells which orders were
 *    written: these are answered, and the main thread writes the rest. So nothing is lost and nothing is doubled.
 */
import { Worker } from 'node:worker_threads';
import type { AppendResult } from '../../ledger/journal.ts';
import { AppendJob } from './append-job.ts';
import type { Appender } from './appender.ts';
import type { EntryTable } from './entry-table.ts';
import { decode } from './entry-row.ts';
import { HandOver } from './hand-over.ts';
import type { Heads, TrustedSessions } from './heads.ts';
import { mostOrders, OrderBuffer } from './order-buffer.ts';
import type { OrderExecutor } from './order-executor.ts';
import { OrderJob } from './order-job.ts';
import { fromThreadError } from './thread-error.ts';
import type { WriteJob } from './write-job.ts';
import type { AppendAnswer, OrderAnswer } from './write-order.ts';
import type { OtherWriter, Writer } from './writer.ts';
import type {
  BatchReply,
  OtherAnswer,
  ThreadReply,
  ThreadRequest,
  WriterThreadData,
} from './writer-thread.ts';

/** Batches that the thread may have at a time: while it writes one, the next waits for it. */
const mostBatches = 3;
/** After the thread has failed, the main thread writes alone for this long. */
const restMs = 60_000;

const none: readonly never[] = Object.freeze([]);

type Sent = {
  readonly buffer: OrderBuffer;
  readonly number: number;
  jobs: readonly OrderJob[];
  /** The last position that this thread knew when it sent the batch. */
  after: number;
  isAdopted: boolean;
};

export type ThreadWriterParts = {
  readonly heads: Heads;
  readonly entries: EntryTable;
  readonly executor: OrderExecutor;
  readonly writer: Writer;
  readonly appender: Appender;
  /** Called after every commit of the thread. */
  readonly committed: () => void;
  /** Called when the thread has ended by itself. */
  readonly onFailure: (error: unknown) => void;
  readonly data: () => WriterThreadData;
  readonly mode: 'auto' | 'always';
  readonly argv: readonly string[];
};

export class ThreadWriter implements OtherWriter {
  readonly #parts: ThreadWriterParts;
  readonly #handOver = new HandOver();
  readonly #free: Sent[] = [];
  /** In the order in which they were sent. */
  readonly #sent: Sent[] = [];
  /** Answers that are not handled yet. */
  readonly #replies: BatchReply[] = [];
  #buffers = 0;
  /** Has this thread written since it last sent a batch? */
  #hasWritten = false;
  /** End of the index that this thread had written when it told the other of it. */
  #trustedUntil: number | undefined;
  #worker: Worker | undefined;
  #isReady = false;
  #failure: unknown;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #closing: Promise<void> | undefined;
  #ended: (() => void) | undefined;

  constructor(parts: ThreadWriterParts) {
    this.#parts = parts;
    parts.heads.onCommit(() => this.#adoptPublished());
  }

  get isBusy(): boolean {
    return this.#sent.length > 0;
  }

  get isAwaited(): boolean {
    return this.#parts.mode === 'always' && this.#worker !== undefined && !this.#isReady;
  }

  isWanted(waiting: number): boolean {
    const isWanted = this.#handOver.isWanted(waiting) || this.#parts.mode === 'always';
    if (!isWanted) return false;
    if (this.#worker === undefined) this.#start();
    return this.#isReady;
  }

  noteOwnBatch(jobs: number, tookMs: number): void {
    this.#hasWritten = true;
    this.#handOver.note(jobs, tookMs);
  }

  send(queue: readonly WriteJob[]): number {
    const worker = this.#worker;
    if (worker === undefined || !this.#isReady) return 0;
    const sent = this.#takeBuffer();
    if (sent === undefined) return 0;
    const { buffer } = sent;
    const before = buffer.memory;
    buffer.clear();
    const jobs: OrderJob[] = [];
    for (const job of queue) {
      if (!(job instanceof OrderJob) || jobs.length === mostOrders || !buffer.add(job.order)) break;
      jobs.push(job);
    }
    if (jobs.length === 0) {
      this.#free.push(sent);
      return 0;
    }
    sent.jobs = jobs;
    sent.after = this.#parts.heads.position;
    sent.isAdopted = false;
    const isNew = sent.number >= this.#buffers || buffer.memory !== before;
    if (isNew) this.#buffers = Math.max(this.#buffers, sent.number + 1);
    this.#sent.push(sent);
    worker.ref();
    const request: ThreadRequest = {
      buffer: sent.number,
      count: jobs.length,
      memory: isNew ? buffer.memory : undefined,
      trusted: this.#takeTrusted(),
      isAfterMain: this.#hasWritten,
    };
    this.#hasWritten = false;
    worker.postMessage(request);
    return jobs.length;
  }

  /** What the thread may trust, if this thread has written the index since it last told. */
  #takeTrusted(): TrustedSessions | undefined {
    const { heads } = this.#parts;
    const { until } = heads.ownIndex.span;
    if (until === this.#trustedUntil) return undefined;
    this.#trustedUntil = until;
    return heads.trusted;
  }

  /** Lets the process end without the thread, unless it has orders or is ending. */
  #release(): void {
    if (this.#sent.length === 0 && this.#ended === undefined) this.#worker?.unref();
  }

  close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return Promise.resolve();
    this.#closing ??= new Promise<void>((resolve) => {
      this.#ended = resolve;
      worker.ref();
      worker.postMessage('end' satisfies ThreadRequest);
    });
    return this.#closing;
  }

  #takeBuffer(): Sent | undefined {
    const free = this.#free.pop();
    if (free !== undefined || this.#sent.length >= mostBatches) return free;
    return { buffer: new OrderBuffer(), number: this.#sent.length, jobs: [], after: 0, isAdopted: false };
  }

  #start(): void {
    if (performance.now() - this.#failedAtMs < restMs) return;
    // After a build this file is JavaScript; in the sources it is TypeScript.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
    try {
      const worker = new Worker(new URL(`./writer-thread${extension}`, import.meta.url), {
        workerData: this.#parts.data(),
        execArgv: ['--disable-warning=ExperimentalWarning', ...this.#parts.argv],
        resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 },
      });
      if (this.#parts.mode === 'auto') worker.unref();
      worker.on('message', (reply: ThreadReply) => this.#receive(reply));
      worker.on('error', (error) => {
        this.#failure = error; // 'exit' follows
      });
      worker.on('exit', () => this.#exited());
      this.#worker = worker;
      this.#trustedUntil = undefined;
      this.#isReady = false;
      this.#failure = undefined;
    } catch (error) {
      // There are no threads here.
      this.#failedAtMs = Number.POSITIVE_INFINITY;
      this.#parts.onFailure(error);
    }
  }

  #receive(reply: ThreadReply): void {
    if (reply === 'ready') {
      this.#isReady = true;
      this.#release();
      this.#parts.writer.otherAnswered();
    } else if (this.#replies.push(reply) === 1) setImmediate(this.#takeNext);
  }

  readonly #takeNext = (): void => {
    const reply = this.#replies.shift();
    if (this.#replies.length > 0) setImmediate(this.#takeNext);
    if (reply !== undefined) this.#take(reply);
  };

  #take(reply: BatchReply): void {
    const { writer, committed } = this.#parts;
    const index = this.#sent.findIndex(({ number }) => number === reply.buffer);
    const [sent] = this.#sent.splice(index, 1) as [Sent];
    const { jobs, buffer } = sent;
    this.#adopt(sent);
    // Read before the buffer is used again.
    const results = readResults(sent);
    this.#handOver.note(jobs.length, buffer.commitMs);
    this.#free.push(sent);
    sent.jobs = none; // a buffer may wait long for its next batch
    this.#release();
    // The next batch leaves before the callers get their answers, so that the thread need not wait for them.
    writer.otherAnswered();
    committed();
    const others = reply.others && new Map(reply.others.map((other) => [other.index, other]));
    for (let index = 0; index < jobs.length; index++)
      answerJob(jobs[index] as OrderJob, results[index], others?.get(index)); // the index is in range
  }

  /** Another connection has committed. If it was the thread, its answers are already here. */
  #adoptPublished(): void {
    for (const sent of this.#sent) {
      if (sent.isAdopted) continue; // its answers are not handled yet
      if (!sent.buffer.isPublished) return;
      const { buffer } = sent;
      let last = sent.jobs.length - 1;
      while (last >= 0 && !buffer.isAppended(last)) last--;
      const isCommitted =
        last >= 0 && this.#parts.appender.hashAt(buffer.positionAt(last)) === buffer.hashAt(last);
      if (!isCommitted) return;
      this.#adopt(sent);
    }
  }

  #adopt(sent: Sent): void {
    if (sent.isAdopted) return;
    sent.isAdopted = true;
    const { heads } = this.#parts;
    try {
      heads.ownIndex.noteThread(sent.buffer.ownSpan);
      adoptInto(heads, sent);
    } catch {
      // The file cannot be read now. The next reader reads the entries from it, or reports the problem.
    }
  }

  #exited(): void {
    for (const reply of this.#replies.splice(0)) this.#take(reply);
    const wasReady = this.#isReady;
    this.#worker = undefined;
    this.#isReady = false;
    if (this.#ended !== undefined && this.#sent.length === 0) {
      this.#ended();
      return;
    }
    // A thread that never was ready cannot run here, for example because its file is missing.
    this.#failedAtMs = wasReady ? performance.now() : Number.POSITIVE_INFINITY;
    this.#settle();
    this.#ended?.();
    this.#parts.onFailure(this.#failure ?? new Error('The thread exited.'));
  }

  /** The thread is gone: answers what it has written, and leaves the rest to the main thread. */
  #settle(): void {
    const sent = this.#sent.splice(0);
    this.#free.length = 0;
    this.#buffers = 0;
    const { writer, committed, heads } = this.#parts;
    const jobs = sent.flatMap((each) => each.jobs);
    if (jobs.length === 0) {
      writer.otherAnswered();
      return;
    }
    try {
      heads.refresh();
      const stored = this.#readStored(Math.min(...sent.map(({ after }) => after)));
      const left: OrderJob[] = [];
      const kept: [OrderJob, OrderAnswer][] = [];
      for (const job of jobs) {
        const answer = this.#findAnswer(job, stored);
        if (answer === undefined) left.push(job);
        else kept.push([job, answer]);
      }
      writer.takeBack(left);
      committed();
      for (const [job, answer] of kept) job.accept(answer);
    } catch (error) {
      // The file cannot be read: the orders may have been written.
      for (const job of jobs) job.reject(error);
      writer.otherAnswered();
    }
  }

  /** The entries after a position, by id. */
  #readStored(after: number): ReadonlyMap<string, AppendAnswer> {
    const stored = new Map<string, AppendAnswer>();
    for (let from = after; ;) {
      const rows = this.#parts.entries.after(from, 500);
      for (const row of rows) {
        const { position, sequence, hash } = row;
        const { entryId } = decode(row);
        const result: AppendResult = { status: 'appended', version: row.version ?? 0 };
        stored.set(entryId, { type: 'append', result, stored: { position, sequence, hash } });
        from = position;
      }
      if (rows.length === 0) return stored;
    }
  }

  #findAnswer({ order }: OrderJob, stored: ReadonlyMap<string, AppendAnswer>): OrderAnswer | undefined {
    switch (order.type) {
      case 'append': {
        const answer = stored.get(order.entryId);
        if (answer === undefined || order.callId === undefined || order.expectedVersion !== 'any')
          return answer;
        const head = this.#parts.heads.find(order.sessionId);
        const version = head === undefined ? 0 : this.#parts.heads.versionOf(head, order.callId);
        return { ...answer, result: { status: 'appended', version } };
      }
      case 'cursor':
        return this.#parts.executor.hasMoved(order.move) ? { type: 'done', isDone: true } : undefined;
      case 'artifact':
        return undefined; // naming it again does no harm
    }
  }
}

/** Stops at the first entry that the heads cannot take over. */
function adoptInto(heads: Heads, { jobs, buffer }: Sent): void {
  for (let index = 0; index < jobs.length; index++) {
    const { order } = jobs[index] as OrderJob; // the index is in range
    if (order.type !== 'append' || !buffer.isAppended(index)) continue;
    const { sessionId, callId } = order;
    const isStep = callId !== undefined && order.expectedVersion !== 'any';
    const isAdopted = heads.adopt(
      sessionId,
      callId ?? null,
      isStep ? buffer.versionAt(index) : null,
      buffer.positionAt(index),
      buffer.sequenceAt(index),
      buffer.hashAt(index),
    );
    if (!isAdopted) return;
  }
}

/** The results of appends; undefined for each other answer, which the message of the thread contains. */
function readResults({ jobs, buffer }: Sent): (AppendResult | undefined)[] {
  const results: (AppendResult | undefined)[] = [];
  for (let index = 0; index < jobs.length; index++)
    results.push(
      buffer.isAppended(index)
        ? { status: 'appended', version: buffer.versionAt(index) }
        : buffer.answerOf(index),
    );
  return results;
}

function answerJob(job: OrderJob, result: AppendResult | undefined, other: OtherAnswer | undefined): void {
  if (other !== undefined && 'error' in other) job.reject(fromThreadError(other.error));
  else if (other !== undefined) job.accept(other.answer);
  else if (result === undefined) job.reject(new Error('The writer thread gave no answer.'));
  else if (job instanceof AppendJob) job.tell(result);
  else job.accept({ type: 'append', result, stored: undefined });
}
