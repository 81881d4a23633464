/**
 * Fills the read tables in a separate thread, to relieve a busy process. The thread starts when there is much to do,
 * and keeps the process alive only while a query waits for it. If no thread is available, the process works without
 * it.
 */
import type { Worker } from 'node:worker_threads';
import { startFillThread } from '../../runtime/host/start-fill-thread.ts';
import type { ProjectorAnswer, ProjectorThreadData } from './projector-thread.ts';

type Waiter = { readonly target: number; readonly resolve: (isDone: boolean) => void };

export class Projector {
  readonly #data: ProjectorThreadData;
  #worker: Worker | undefined;
  #isBroken = false;
  #waiters: Waiter[] = [];

  constructor(data: ProjectorThreadData) {
    this.#data = data;
  }

  /** Is the thread running? Then it costs little to use it. */
  get isStarted(): boolean {
    return this.#worker !== undefined && !this.#isBroken;
  }

  /** Resolves when the tables reach the position; to false if the caller must fill them itself. */
  fill(target: number): Promise<boolean> {
    const worker = this.#start();
    if (worker === undefined) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#waiters.push({ target, resolve });
      worker.ref();
      worker.postMessage(target);
    });
  }

  /** Lets the thread end by itself, so that it leaves no lock behind. */
  async close(): Promise<void> {
    this.#isBroken = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref(); // not released again, because the thread is ending
    worker.postMessage('end');
    await new Promise((resolve) => worker.once('exit', resolve));
  }

  #start(): Worker | undefined {
    if (this.#worker !== undefined || this.#isBroken) return this.#worker;
    try {
      const worker = startFillThread('projector-thread', import.meta.url, this.#data);
      worker.on('message', ({ target, isDone }: ProjectorAnswer) =>
        this.#tell((waiter) => (isDone ? waiter.target <= target : waiter.target === target), isDone),
      );
      worker.on('error', () => {
        this.#isBroken = true; // 'exit' follows
      });
      worker.on('exit', () => {
        this.#worker = undefined;
        this.#tell(() => true, false);
      });
      this.#worker = worker;
    } catch {
      this.#isBroken = true; // no threads here, or the file is missing: the process fills the tables itself
    }
    return this.#worker;
  }

  #tell(isMeant: (waiter: Waiter) => boolean, isDone: boolean): void {
    const due = this.#waiters.filter(isMeant);
    this.#waiters = this.#waiters.filter((waiter) => !isMeant(waiter));
    if (this.#waiters.length === 0 && !this.#isBroken) this.#worker?.unref();
    for (const { resolve } of due) resolve(isDone);
  }
}
