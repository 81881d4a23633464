/**
 * Long work in a thread of its own. Every such thread runs `work-thread.ts`, which imports one module with a task and
 * then takes orders.
 *
 * 1. An order ends with an answer or with an error. Orders to one thread may overlap.
 * 2. An aborted signal reaches the task, which ends its work by itself. A thread with an open database is never ended
 *    from outside: that would end the process.
 * 3. A thread keeps the process alive only while it has orders.
 */
import type { ResourceLimits } from 'node:worker_threads';
import { Worker } from 'node:worker_threads';
import { QuittanceError } from '../base/error.ts';
import type { FromThread, ToThread, WorkThreadData } from './work-thread.ts';

export type TaskOptions<Data> = {
  /** The module of the task: see `taskModule`. It exports `begin`. */
  readonly module: URL;
  readonly data: Data;
  /** For Linux, see `priority.ts`. */
  readonly niceness?: number;
  readonly memory?: ResourceLimits;
};

type OrderOptions<Progress> = {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: Progress) => void;
};

type Waiting = {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly onProgress: ((progress: never) => void) | undefined;
};

/** The module next to a file, by name. After a build it is JavaScript; in the sources it is TypeScript. */
export function taskModule(name: string, siblingUrl: string): URL {
  const extension = siblingUrl.slice(siblingUrl.lastIndexOf('.'));
  return new URL(`./${name}${extension}`, siblingUrl);
}

export class TaskThread<Order, Answer, Progress = never> {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  readonly #began = Promise.withResolvers<string | undefined>();
  #failure: unknown;
  #isOver = false;
  #lastId = 0;

  constructor({ module, data, niceness, memory }: TaskOptions<unknown>) {
    const workerData: WorkThreadData = { module: module.href, data, niceness };
    this.#worker = new Worker(taskModule('work-thread', import.meta.url), {
      workerData,
      execArgv: [], // not the flags of the program
      ...(memory !== undefined && { resourceLimits: memory }),
    });
    this.#worker.unref();
    this.#began.promise.catch(() => undefined); // each order reports it
    this.#worker.on('message', (message: FromThread) => this.#receive(message));
    this.#worker.on('error', (error) => (this.#failure = error));
    this.#ended = new Promise((resolve) =>
      this.#worker.once('exit', () => {
        this.#lose(this.#failure ?? new Error('The thread ended before it answered.'));
        resolve();
      }),
    );
  }

  /** False once the thread has ended. */
  get isAlive(): boolean {
    return !this.#isOver;
  }

  /** The name of the thread for `startThreadClock`, once its task has begun. */
  get name(): Promise<string | undefined> {
    return this.#held(this.#began.promise);
  }

  /** Rejects with the error of the task, or with that of the thread: see `isOutOfMemory`. */
  order(order: Order, { signal, onProgress }: OrderOptions<Progress> = {}): Promise<Answer> {
    if (this.#isOver) return Promise.reject(this.#failure as Error);
    const id = ++this.#lastId;
    const stop = (): void => this.#send({ type: 'stop', id });
    const answered = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onProgress });
      this.#send({ type: 'order', id, order });
      if (signal?.aborted === true) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    });
    // The task answers what its type says.
    return this.#held(answered.finally(() => signal?.removeEventListener('abort', stop))) as Promise<Answer>;
  }

  /** The task finishes its orders, and the thread ends by itself. */
  async end(): Promise<void> {
    this.#send({ type: 'end' });
    await this.#held(this.#ended);
  }

  /** Ends the thread at once. Only for tasks that open no database: the layering test names them. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #send(message: ToThread): void {
    if (!this.#isOver) this.#worker.postMessage(message);
  }

  /** The process stays alive until the promise is settled. */
  async #held<Value>(promise: Promise<Value>): Promise<Value> {
    if (this.#isOver) return promise;
    if (this.#holders++ === 0) this.#worker.ref();
    try {
      return await promise;
    } finally {
      if (--this.#holders === 0) this.#worker.unref();
    }
  }

  #holders = 0;

  #receive(message: FromThread): void {
    if (message.type === 'began') return this.#began.resolve(message.name);
    const waiting = this.#waiting.get(message.id);
    if (message.type === 'progress') return waiting?.onProgress?.(message.progress as never); // of its own task
    this.#waiting.delete(message.id);
    if (message.type === 'answer') waiting?.resolve(message.answer);
    else waiting?.reject(toError(message.error));
  }

  #lose(error: unknown): void {
    this.#isOver = true;
    this.#failure = error;
    this.#began.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** Did the thread need more memory than it may have? */
export const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

function toError(sent: Extract<FromThread, { readonly type: 'error' }>['error']): Error {
  if (sent.code !== undefined) return new QuittanceError(sent.code, sent.message, sent.facts);
  const error = new Error(sent.message);
  if (sent.stack !== undefined) error.stack = sent.stack;
  return error;
}
