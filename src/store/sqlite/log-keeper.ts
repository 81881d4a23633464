/**
 * Keeps the log of a busy ledger short, in a separate thread. Copying the log into the file takes tens of milliseconds,
 * in which the writer would answer no caller. The thread copies while others write, until little is left. The writer
 * copies that: see `WriterLog`.
 *
 * The thread starts under load, and never keeps the process alive. Without it the writers copy the log themselves.
 */
import { Worker } from 'node:worker_threads';
import { LogState } from './log-state.ts';
import type { LogThreadData } from './log-thread.ts';

/** Entries within `spanMs` that count as load. */
const manyEntries = 1_000;
const spanMs = 1_000;

export class LogKeeper {
  readonly state: LogState = new LogState();
  readonly #data: (() => LogThreadData) | undefined;
  #worker: Worker | undefined;
  #isBroken: boolean;
  #spanFrom = 0;
  #spanSinceMs = Number.NEGATIVE_INFINITY;

  /** `data` is what the thread starts with. Without data, no thread is started. */
  constructor(data: (() => LogThreadData) | undefined) {
    this.#data = data;
    this.#isBroken = data === undefined;
  }

  get memory(): SharedArrayBuffer {
    return this.state.memory;
  }

  /** A writer of this process has committed entries up to a position. */
  noteCommit(position: number): void {
    if (this.#worker !== undefined) {
      if (this.state.isAsleep) this.#wake(this.#worker);
      return;
    }
    if (this.#isBroken) return;
    const nowMs = performance.now();
    if (nowMs - this.#spanSinceMs > spanMs) [this.#spanSinceMs, this.#spanFrom] = [nowMs, position];
    else if (position - this.#spanFrom >= manyEntries) this.#start();
  }

  /** Lets the thread end by itself, so that it closes the file. */
  async close(): Promise<void> {
    this.#isBroken = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    worker.postMessage('end');
    await new Promise((resolve) => worker.once('exit', resolve));
  }

  #wake(worker: Worker): void {
    this.state.isAsleep = false;
    worker.postMessage('look');
  }

  #start(): void {
    // After a build this file is JavaScript; in the sources it is TypeScript.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
    try {
      const worker = new Worker(new URL(`./log-thread${extension}`, import.meta.url), {
        workerData: this.#data?.(),
        execArgv: ['--disable-warning=ExperimentalWarning'],
        resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 },
      });
      worker.unref();
      worker.on('error', () => {
        this.#isBroken = true; // 'exit' follows
      });
      worker.on('exit', () => {
        this.#worker = undefined;
        this.#isBroken = true;
        this.state.isKept = false;
      });
      this.#worker = worker;
    } catch {
      this.#isBroken = true; // no threads here, or the file is missing
    }
  }
}
