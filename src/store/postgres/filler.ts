/**
 * Fills the read tables in a separate thread with a connection of its own, to relieve a busy process. If no thread is
 * available, the process works without it.
 */
import type { Worker } from 'node:worker_threads';
import { startFillThread } from '../../runtime/host/start-fill-thread.ts';
import type { FillerThreadAnswer, FillerThreadRequest } from './filler-thread.ts';
import type { PostgresSettings } from './settings.ts';

/** What the server calls the connection of the thread. */
export const fillerName = 'quittance read tables';

export class Filler {
  readonly #settings: PostgresSettings;
  #worker: Worker | undefined;
  #isBroken = false;
  #tell: ((isDone: boolean) => void) | undefined;

  constructor(settings: PostgresSettings) {
    this.#settings = { ...settings, readers: 1, applicationName: fillerName };
  }

  /** Is the thread running? Then it costs little to use it. */
  get isStarted(): boolean {
    return this.#worker !== undefined && !this.#isBroken;
  }

  /**
   * Resolves when the tables say all that was committed before. Resolves to false if the caller must fill them itself.
   * Called again only after that.
   */
  fill(): Promise<boolean> {
    const worker = this.#start();
    if (worker === undefined) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#tell = resolve;
      worker.ref();
      worker.postMessage('fill' satisfies FillerThreadRequest);
    });
  }

  /** Lets the thread end by itself, so that it leaves no connection behind. */
  async close(): Promise<void> {
    this.#isBroken = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref(); // not released again, because the thread is ending
    worker.postMessage('end' satisfies FillerThreadRequest);
    await new Promise((resolve) => worker.once('exit', resolve));
  }

  #start(): Worker | undefined {
    if (this.#worker !== undefined || this.#isBroken) return this.#worker;
    try {
      const worker = startFillThread('filler-thread', import.meta.url, this.#settings);
      worker.on('message', (isDone: FillerThreadAnswer) => {
        if (!this.#isBroken) worker.unref();
        this.#answer(isDone);
      });
      worker.on('error', () => {
        this.#isBroken = true; // 'exit' follows
      });
      worker.on('exit', () => {
        this.#worker = undefined;
        this.#answer(false);
      });
      this.#worker = worker;
    } catch {
      this.#isBroken = true; // no threads here, or the file is missing
    }
    return this.#worker;
  }

  #answer(isDone: boolean): void {
    const tell = this.#tell;
    this.#tell = undefined;
    tell?.(isDone);
  }
}
