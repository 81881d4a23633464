/**
 * Group commit. Jobs queue up; once per turn of the event loop all of them are written in one transaction with one
 * flush to disk. Only then are they answered.
 *
 * 1. A single append is written at once: there is no timer, only the end of the turn.
 * 2. The lock is held for a bounded time and never waited for: a writer that finds it taken retries later.
 * 3. A failing job does not affect others: its batch is rolled back and its jobs are written one by one.
 * 4. A refused entry is not found after a restart. A commit whose flush failed may be complete in the log, and the
 *    next process to open the file would accept it. So it is overwritten before any caller sees the refusal.
 */
import { readOnlyError } from '../../ledger/prepare-entry.ts';
import { backoffMs } from './backoff.ts';
import type { Database, Statement } from './database.ts';
import { isBusy, isInputOutput, isReadOnly, prepareRow } from './database.ts';

/** One unit of work inside a transaction. */
export interface WriteJob {
  /** Reads and writes. All its writes are committed or rolled back together. It waits for nothing but this connection. */
  perform(): void | Promise<void>;
  /** After an error: was it committed anyway, because only the answer to the commit was lost? */
  isKept(): boolean;
  resolve(): void;
  reject(error: unknown): void;
}

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
  /** Some jobs were answered. */
  answered(): void;
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

  constructor(database: Database, events: WriterEvents) {
    this.#database = database;
    this.#events = events;
    this.#begin = prepareRow(database, 'BEGIN IMMEDIATE');
    this.#commit = prepareRow(database, 'COMMIT');
  }

  add(job: WriteJob): void {
    this.#queue.push(job);
    if (!this.#scheduled) this.#schedule();
  }

  /** Runs a function in a transaction of the queue and returns its result. */
  run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      let result: Result;
      this.add({
        perform: async () => {
          result = await work();
        },
        isKept: () => false,
        resolve: () => resolve(result),
        reject,
      });
    });
  }

  #schedule(): void {
    this.#scheduled = true;
    if (this.#mustWait) setTimeout(() => void this.#flush(), pauseMs);
    else setImmediate(() => void this.#flush());
  }

  /** The writer that just released the lock is the quickest to take it again, and would starve other writers. */
  get #mustWait(): boolean {
    if (this.#inARow < mostInARow) return false;
    this.#inARow = 0;
    return performance.now() - this.#metOthersAtMs < politeMs;
  }

  readonly #flush = async (): Promise<void> => {
    this.#scheduled = false;
    if (this.#queue.length === 0 || !this.#enter()) return;
    this.#scheduled = true; // jobs that are added meanwhile wait
    const batch = await this.#write();
    this.#scheduled = false;
    if (batch !== undefined) {
      this.#events.committed();
      for (const job of batch) job.resolve();
    }
    this.#events.answered();
    if (this.#queue.length > 0) this.#schedule();
  };

  /** Takes the lock, or schedules a retry. */
  #enter(): boolean {
    try {
      this.#events.entering();
      this.#begin.run();
      this.#tries = 0;
      return true;
    } catch (error) {
      if (isBusy(error)) this.#comeBack(error);
      else this.#refuseAll(isReadOnly(error) ? readOnlyError(error) : error);
      return false;
    }
  }

  #comeBack(error: unknown): void {
    const nowMs = performance.now();
    this.#metOthersAtMs = nowMs;
    if (this.#tries === 0) this.#waitingSinceMs = nowMs;
    if (nowMs - this.#waitingSinceMs > patienceMs) {
      this.#tries = 0;
      this.#refuseAll(error);
      return;
    }
    this.#scheduled = true;
    setTimeout(() => void this.#flush(), backoffMs(this.#tries++));
  }

  #refuseAll(error: unknown): void {
    const batch = this.#queue;
    this.#queue = [];
    for (const job of batch) job.reject(error);
    this.#events.answered();
  }

  /** The committed jobs; undefined if the batch was rolled back. */
  async #write(): Promise<WriteJob[] | undefined> {
    const queue = this.#queue;
    const most = this.#alone > 0 ? 1 : Math.min(queue.length, mostJobs);
    const untilMs = performance.now() + mostMs;
    let taken = 0;
    try {
      this.#inARow++;
      if (this.#events.began()) {
        this.#metOthersAtMs = performance.now();
        this.#inARow = 0;
      }
      do {
        const performed = queue[taken++]?.perform();
        if (performed !== undefined) await performed;
      } while (taken < most && (taken % 32 !== 0 || performance.now() < untilMs));
      this.#events.ending();
      this.#commit.run();
    } catch (error) {
      this.#rollBack();
      // All of them, or none.
      if (queue.slice(0, taken).some(isKept)) return this.#take(taken);
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
}

function isKept(job: WriteJob): boolean {
  try {
    return job.isKept();
  } catch {
    return false; // the error of the commit says more than that of the check
  }
}
