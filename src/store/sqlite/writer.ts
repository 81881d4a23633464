/**
 * Group commit. Jobs queue up; once per turn of the event loop all of them are written in one transaction with one
 * flush to disk. Only then do the callers get their results.
 *
 * 1. A single append is written at once: there is no timer, only the end of the turn.
 * 2. The lock is held for a bounded time and never waited for: a writer that finds it taken retries later.
 * 3. A failing job does not affect others: its batch is rolled back and its jobs are written one by one.
 * 4. A refused entry is not found after a restart. A commit whose flush failed may be complete in the log, and the
 *    next process to open the file would accept it. So it is overwritten before any caller sees the refusal.
 * 5. Only one thread of the process writes at a time. Under load the jobs at the head of the queue go to the writer
 *    thread: see `ThreadWriter`. This thread writes again only when the other has answered everything.
 */
import { closedError, readOnlyError } from '../../ledger/refuse-entry.ts';
import { backoffMs } from './backoff.ts';
import type { Database, Statement } from './database.ts';
import { isBusy, isInputOutput, isReadOnly, prepareRow } from './database.ts';
import type { OrderJob } from './order-job.ts';
import { AskedJob } from './order-job.ts';
import type { WriteJob } from './write-job.ts';
import type { OrderAnswer, OrderPerformer, WriteOrder } from './write-order.ts';

/** Notifications of the writer. */
export interface WriterEvents {
  /** Before a transaction. */
  entering(): void;
  /** At the start of a transaction. Returns whether another process has written since the last one. */
  began(): boolean;
  /** Called before the commit. */
  ending(): void;
  committed(): void;
  rolledBack(): void;
}

/** The writer thread, as the queue sees it. */
export interface OtherWriter {
  /** Should it write the jobs that wait, according to the load? */
  isWanted(waiting: number): boolean;
  /** Has it jobs that it has not answered? */
  readonly isBusy: boolean;
  /** Is it about to start, and must this thread leave the jobs to it? */
  readonly isAwaited: boolean;
  /** Takes orders from the head of the queue and returns how many: 0 if it has no room, or the first is not an order. */
  send(queue: readonly WriteJob[]): number;
  /** This thread has committed a batch by itself. */
  noteOwnBatch(jobs: number, tookMs: number): void;
  /** Resolves when it has ended. Call only while it is not busy. */
  close(): Promise<void>;
}

/** Measured: at this size the flush to disk is a small part of a batch, and other writers wait only milliseconds. */
const mostJobs = 1_024;
const mostMs = 10;
/** For this long after it met other writers, the writer pauses when it has had the lock too often in a row. */
const politeMs = 50;
const mostInARow = 3;
const pauseMs = 1;
/** A lock held longer than this is held by a stuck process. */
const patienceMs = 10_000;

export class Writer {
  readonly #database: Database;
  readonly #events: WriterEvents;
  readonly #executor: () => OrderPerformer;
  #other: OtherWriter | undefined;
  readonly #begin: Statement<never>;
  readonly #commit: Statement<never>;
  #queue: WriteJob[] = [];
  #scheduled = false;
  /** Number of jobs at the head of the queue that run alone, after they failed together. */
  #alone = 0;
  #tries = 0;
  #waitingSinceMs = 0;
  #metOthersAtMs = Number.NEGATIVE_INFINITY;
  /** Batches written since another process wrote one. */
  #inARow = 0;
  /** Has the other thread of this process written since this one did? */
  #otherWrote = false;
  #drained: (() => void)[] = [];
  #closed = false;

  /** `executor`: performs orders. */
  constructor(database: Database, events: WriterEvents, executor: () => OrderPerformer) {
    this.#database = database;
    this.#events = events;
    this.#executor = executor;
    this.#begin = prepareRow(database, 'BEGIN IMMEDIATE');
    this.#commit = prepareRow(database, 'COMMIT');
  }

  /** Lets another thread write under load. */
  shareWith(other: OtherWriter): void {
    this.#other = other;
  }

  add(job: WriteJob): void {
    if (this.#closed) {
      job.reject(closedError());
      return;
    }
    this.#queue.push(job);
    if (!this.#scheduled) this.#schedule();
  }

  /** Performs the orders of this thread. */
  get executor(): OrderPerformer {
    return this.#executor();
  }

  order(order: WriteOrder): Promise<OrderAnswer> {
    return new Promise((resolve, reject) => this.add(new AskedJob(order, this.executor, resolve, reject)));
  }

  /** Runs a function in a transaction of the queue and returns its result. Only this thread can run it. */
  run<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      let result: Result;
      this.add({
        perform: () => {
          this.#executor().flush();
          result = work();
        },
        isKept: () => false,
        resolve: () => resolve(result),
        reject,
      });
    });
  }

  /** Accepts no more jobs and resolves when all accepted ones are written or refused. */
  async close(): Promise<void> {
    this.#closed = true;
    if (!this.#isDrained) await new Promise<void>((resolve) => this.#drained.push(resolve));
    await this.#other?.close();
  }

  get #isDrained(): boolean {
    return this.#queue.length === 0 && this.#other?.isBusy !== true;
  }

  /** The other thread of this process writes before this one does again. It is not another process to be polite to. */
  expectOther(): void {
    this.#otherWrote = true;
  }

  /** The other thread has answered some jobs, is ready to take some, or has failed. */
  otherAnswered(): void {
    if (this.#isDrained) this.#tellDrained();
    // This thread writes in a task of its own, when no snapshot is open.
    else if (this.#queue.length > 0 && !this.#isForOther() && !this.#scheduled) this.#schedule();
  }

  /** The other thread has ended without writing these jobs: they come first again. */
  takeBack(jobs: readonly OrderJob[]): void {
    this.#queue = [...jobs, ...this.#queue];
    this.otherAnswered();
  }

  #schedule(): void {
    this.#scheduled = true;
    if (this.#mustWait) setTimeout(this.#flush, pauseMs);
    else setImmediate(this.#flush);
  }

  /** The writer that just released the lock is the quickest to take it again, and would starve other writers. */
  get #mustWait(): boolean {
    if (this.#inARow < mostInARow) return false;
    this.#inARow = 0;
    return performance.now() - this.#metOthersAtMs < politeMs;
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#queue.length === 0 || this.#isForOther() || !this.#enter()) return;
    const beganMs = performance.now();
    const batch = this.#write();
    if (batch !== undefined) {
      this.#other?.noteOwnBatch(batch.length, performance.now() - beganMs);
      this.#events.committed();
      for (const job of batch) job.resolve();
    }
    if (this.#isDrained) this.#tellDrained();
    else if (!this.#scheduled) this.#schedule();
  };

  /** Sends jobs to the other thread if it is wanted. True if this thread may not write now. */
  #isForOther(): boolean {
    const other = this.#other;
    if (other === undefined) return false;
    // Jobs that failed together are retried one by one, by the same thread.
    if (this.#alone > 0) return other.isBusy;
    while (other.isWanted(this.#queue.length)) {
      const sent = other.send(this.#queue);
      this.#take(sent);
      if (sent > 0) this.expectOther();
      if (sent === 0 || this.#queue.length === 0) break;
    }
    return this.#queue.length === 0 || other.isBusy || other.isAwaited;
  }

  /** Takes the lock, or schedules a retry. */
  #enter(): boolean {
    try {
      this.#events.entering();
      this.#begin.run();
      this.#tries = 0;
      return true;
    } catch (error) {
      if (isBusy(error)) this.#comeBack(error);
      else {
        const batch = this.#queue;
        this.#queue = [];
        const refusal = isReadOnly(error) ? readOnlyError(error) : error;
        for (const job of batch) job.reject(refusal);
        this.#tellDrained();
      }
      return false;
    }
  }

  #comeBack(error: unknown): void {
    const nowMs = performance.now();
    this.#metOthersAtMs = nowMs;
    if (this.#tries === 0) this.#waitingSinceMs = nowMs;
    if (nowMs - this.#waitingSinceMs > patienceMs) {
      const batch = this.#queue;
      this.#queue = [];
      this.#tries = 0;
      for (const job of batch) job.reject(error);
      this.#tellDrained();
      return;
    }
    this.#scheduled = true;
    setTimeout(this.#flush, backoffMs(this.#tries++));
  }

  /** The committed jobs; undefined if the batch was rolled back. */
  #write(): WriteJob[] | undefined {
    const queue = this.#queue;
    const most = this.#alone > 0 ? 1 : Math.min(queue.length, mostJobs);
    const untilMs = performance.now() + mostMs;
    let taken = 0;
    try {
      this.#inARow++;
      if (this.#events.began()) {
        if (!this.#otherWrote) this.#metOthersAtMs = performance.now();
        this.#inARow = 0;
      }
      this.#otherWrote = false;
      do queue[taken++]?.perform();
      while (taken < most && (taken % 32 !== 0 || performance.now() < untilMs));
      this.#events.ending();
      this.#commit.run();
    } catch (error) {
      this.#rollBack();
      const [first] = queue;
      if (first !== undefined && isKept(first)) return this.#take(taken);
      if (taken > 1) this.#alone = taken;
      else {
        if (isInputOutput(error)) this.#overwrite();
        for (const job of this.#take(1)) job.reject(error);
      }
      return undefined;
    }
    return this.#take(taken);
  }

  #take(count: number): WriteJob[] {
    const queue = this.#queue;
    this.#alone = Math.max(0, this.#alone - count);
    if (count < queue.length) return queue.splice(0, count);
    this.#queue = [];
    return queue;
  }

  #rollBack(): void {
    // Some errors make SQLite roll back by itself.
    if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
    this.#events.rolledBack();
  }

  /** Overwrites the refused transaction in the log with one that changes nothing. It need not reach the disk. */
  #overwrite(): void {
    try {
      this.#begin.run();
      // Writes a page although nothing changes, which an UPDATE to the same value does not.
      this.#database.pragma(
        `user_version = ${String(this.#database.pragma('user_version', { simple: true }))}`,
      );
      this.#commit.run();
    } catch {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
    }
  }

  #tellDrained(): void {
    const drained = this.#drained;
    this.#drained = [];
    for (const tell of drained) tell();
  }
}

function isKept(job: WriteJob): boolean {
  try {
    return job.isKept();
  } catch {
    return false; // the error of the commit says more than that of the check
  }
}
