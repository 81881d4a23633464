/**
 * The main thread's side of the writer thread: sends it orders and gives its answers to the callers.
 *
 * 1. The thread starts with the first order. It keeps the process alive only while it has orders.
 * 2. Orders are sent once per turn of the event loop, all in one message, and the thread keeps their order.
 * 3. A limited number of callers gets answers in one turn: what they do next must not delay timers and sockets.
 * 4. If the thread ends by itself, SQLite has committed or rolled back what it was writing. The file tells which orders
 *    were written: these are answered, and a new thread gets the rest. So nothing is lost and nothing is doubled. An
 *    order that has met several such ends is refused.
 */
import { Worker } from 'node:worker_threads';
import { QuittanceError } from '../../base/error.ts';
import { closedError } from '../../ledger/prepare-entry.ts';
import type { CursorTable } from './cursor-table.ts';
import type { EntryTable } from './entry-table.ts';
import { decode } from '../sql/entries.ts';
import type { Sessions } from './sessions.ts';
import { fromThreadError } from './thread-error.ts';
import type { Answer, Answers, WriteOrder } from './write-order.ts';
import { toSent } from './write-order.ts';
import type { ThreadReply, ThreadRequest, WriterThreadData } from './writer-thread.ts';

/**
 * Callers that get their answers in one turn of the event loop. Measured with 256 calls in flight: 64 block the loop for
 * 18 ms (p99), 16 for 8 ms. Both make as many calls.
 */
const mostAnswers = 16;
/** Ends of the thread that an order may meet. */
const mostEnds = 3;

type Pending = {
  readonly number: number;
  readonly order: WriteOrder;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** The last position that was known when it was sent: what it writes comes after. */
  after: number;
  ends: number;
};

type WriterClientParts = {
  readonly path: string;
  readonly sessions: Sessions;
  readonly entries: EntryTable;
  readonly cursors: CursorTable;
  readonly data: () => WriterThreadData;
  /** Options of Node for the thread. */
  readonly argv: readonly string[];
  /**
   * Called when the thread has answered. `position`: of the last entry. `metOthers`: has another process written since the
   * last answer?
   */
  readonly answered: (position: number, metOthers: boolean) => void;
  /** Called when the thread has ended by itself. */
  readonly onEnd: (error: unknown) => void;
};

export class WriterClient {
  readonly #parts: WriterClientParts;
  #orders = 0;
  /** Not sent yet. */
  #waiting: Pending[] = [];
  /** In the order in which they were sent. */
  readonly #sent = new Map<number, Pending>();
  /** Calls that give the callers their answers, in the order of the answers. */
  #answers: (() => void)[] = [];
  #isAnswering = false;
  #isScheduled = false;
  #worker: Worker | undefined;
  #failure: unknown;
  #position = 0;
  #closing: Promise<void> | undefined;
  #drained: (() => void) | undefined;

  constructor(parts: WriterClientParts) {
    this.#parts = parts;
  }

  send<Order extends WriteOrder>(order: Order): Promise<Answers[Order['type']]> {
    return new Promise((resolve, reject) => {
      if (this.#closing !== undefined) {
        reject(closedError());
        return;
      }
      this.#waiting.push({
        number: ++this.#orders,
        order,
        // The thread answers each order with what belongs to its type.
        resolve: resolve as (answer: Answer) => void,
        reject,
        after: 0,
        ends: 0,
      });
      this.#schedule();
    });
  }

  /** Accepts no more orders. Resolves when all accepted ones are answered and the thread has ended. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Has the thread orders that it has not answered? */
  get isBusy(): boolean {
    return this.#sent.size > 0;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  async #close(): Promise<void> {
    if (!this.#isDrained) await new Promise<void>((resolve) => (this.#drained = resolve));
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#worker = undefined;
    worker.ref();
    worker.removeAllListeners();
    await new Promise<void>((resolve) => {
      worker.once('exit', () => resolve());
      worker.once('error', () => resolve()); // everything is stored
      worker.postMessage('end' satisfies ThreadRequest);
    });
  }

  get #isDrained(): boolean {
    return this.#waiting.length === 0 && this.#sent.size === 0 && this.#answers.length === 0;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#post);
  }

  readonly #post = (): void => {
    this.#isScheduled = false;
    if (this.#waiting.length === 0) return;
    const pending = this.#waiting;
    this.#waiting = [];
    for (const each of pending) this.#sent.set(each.number, each);
    try {
      this.#worker ??= this.#start();
      for (const each of pending) each.after = this.#position;
      this.#worker.ref();
      this.#worker.postMessage(
        pending.map(({ number, order }) => toSent(number, order)) satisfies ThreadRequest,
      );
    } catch (error) {
      this.#failure = error;
      this.#ended();
    }
  };

  #start(): Worker {
    this.#position = this.#parts.entries.lastPosition();
    this.#failure = undefined;
    // After a build this file is JavaScript; in the sources it is TypeScript.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
    const worker = new Worker(new URL(`./writer-thread${extension}`, import.meta.url), {
      workerData: this.#parts.data(),
      execArgv: [...this.#parts.argv], // not the flags of the program
      resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 },
    });
    worker.on('message', (reply: ThreadReply) => this.#receive(reply));
    worker.on('error', (error) => {
      this.#failure = error; // 'exit' follows
    });
    worker.on('exit', () => this.#ended());
    return worker;
  }

  #receive({ answers, errors, position, metOthers }: ThreadReply): void {
    for (const [number, answer] of answers) {
      const pending = this.#take(number);
      if (pending !== undefined) this.#answers.push(() => pending.resolve(answer));
    }
    for (const [number, error] of errors) {
      const pending = this.#take(number);
      if (pending !== undefined) this.#answers.push(() => pending.reject(fromThreadError(error)));
    }
    this.#position = Math.max(this.#position, position);
    if (this.#sent.size === 0) this.#worker?.unref();
    this.#parts.answered(this.#position, metOthers);
    if (!this.#isAnswering) this.#tellSome();
  }

  #take(number: number): Pending | undefined {
    const pending = this.#sent.get(number);
    this.#sent.delete(number);
    return pending;
  }

  readonly #tellSome = (): void => {
    const some = this.#answers.slice(0, mostAnswers);
    this.#answers = this.#answers.slice(mostAnswers);
    this.#isAnswering = this.#answers.length > 0;
    if (this.#isAnswering) setImmediate(this.#tellSome);
    for (const tell of some) tell();
    if (this.#isDrained) this.#drained?.();
  };

  /** The thread is gone: answers what it has written, and leaves the rest to a new one. */
  #ended(): void {
    this.#worker = undefined;
    const error = this.#failure ?? new Error('The thread exited.');
    const left: Pending[] = [];
    try {
      const after = Math.min(...[...this.#sent.values()].map((pending) => pending.after));
      const stored = this.#sent.size === 0 ? new Map<string, number>() : this.#readStored(after);
      for (const pending of this.#sent.values()) {
        const answer = this.#findAnswer(pending.order, stored);
        if (answer !== undefined) this.#answers.push(() => pending.resolve(answer));
        else if (++pending.ends < mostEnds) left.push(pending);
        else this.#answers.push(() => pending.reject(this.#givenUp(error)));
      }
    } catch (cause) {
      // The file cannot be read: the orders may have been written.
      for (const pending of this.#sent.values()) this.#answers.push(() => pending.reject(cause));
      left.length = 0;
    }
    this.#sent.clear();
    this.#waiting = [...left, ...this.#waiting];
    if (this.#waiting.length > 0) this.#schedule();
    this.#parts.onEnd(error);
    this.#parts.answered(this.#position, true);
    if (!this.#isAnswering) this.#tellSome();
  }

  #givenUp(cause: unknown): QuittanceError {
    const { path } = this.#parts;
    return new QuittanceError(
      'ledger.unavailable',
      `The thread that writes the ledger ${path} ended ${mostEnds} times before it had stored this. Nothing was ` +
        `stored. Its last error: ${cause instanceof Error ? cause.message : String(cause)}`,
      { path },
      cause,
    );
  }

  /** The versions of the entries after a position, by the ids of the entries; -1 for a remark. */
  #readStored(after: number): ReadonlyMap<string, number> {
    const stored = new Map<string, number>();
    for (let from = after; ;) {
      const rows = this.#parts.entries.after(from, 500);
      for (const row of rows) {
        stored.set(decode(row).entryId, row.version ?? -1);
        from = row.position;
      }
      if (rows.length === 0) return stored;
    }
  }

  #findAnswer(order: WriteOrder, stored: ReadonlyMap<string, number>): Answer | undefined {
    const { sessions, entries, cursors } = this.#parts;
    switch (order.type) {
      case 'append': {
        const version = stored.get(order.entryId);
        if (version === undefined) return undefined;
        if (version >= 0) return { status: 'appended', version };
        const session = order.callId === undefined ? undefined : sessions.read(order.sessionId);
        const now =
          session === undefined || order.callId === undefined ? 0 : entries.versionOf(session, order.callId);
        return { status: 'appended', version: now };
      }
      case 'cursor':
        return cursors.isChanged(order.change) ? true : undefined;
      case 'drop':
        return sessions.read(order.removal.sessionId) === undefined ? true : undefined;
      case 'artifact':
      case 'key':
      case 'erase':
      case 'rebuild':
      case 'relist':
        return undefined; // can be done again
    }
  }
}
