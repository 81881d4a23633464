/** Gives work on typed documents to a thread, within limits of time, memory and number. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { fromSent } from './contract-work.ts';
import type { ContractOrder } from './contract-work.ts';
import type { ContractThreadAnswer } from './contract-thread.ts';
import { FairQueue } from './fair-queue.ts';
import { HttpRefusal } from './problem.ts';
import { startThreadClock } from './thread-clock.ts';

export type ContractLimits = {
  /** Of work for one request: see thread-time.ts. */
  readonly timeMs: number;
  /** The limit of the thread; one request gets less. */
  readonly memoryMb: number;
};

/** The part of the thread's memory for short-lived values. */
const youngMemoryMb = 8;
const mostAnswerChars = 1_048_576;

type ContractThread = { readonly worker: Worker; readonly name: string | undefined };

export class ContractThreads {
  readonly #limits: ContractLimits;
  readonly #queue = new FairQueue('contracts to be read', {
    running: 1,
    waiting: 32,
    waitingPerCaller: 4,
    restAfterMs: 50,
    restTimes: 3,
  });
  #thread: Promise<ContractThread> | undefined;

  constructor(limits: ContractLimits) {
    this.#limits = limits;
  }

  /** JSON text. Throws 413 if the work takes too much, 429 if too much waits, or the problems of the documents. */
  run(caller: string, signal: AbortSignal, order: ContractOrder): Promise<string> {
    return this.#queue.run(caller, signal, () => this.#work(order));
  }

  async close(): Promise<void> {
    await this.#end();
  }

  async #work(order: ContractOrder): Promise<string> {
    this.#thread ??= this.#start();
    const thread = await this.#thread;
    const { worker } = thread;
    worker.ref();
    try {
      const answer = await this.#answer(thread, order);
      if (answer.type === 'refused') throw fromSent(answer.error);
      if (answer.type === 'ready') throw new TypeError('A thread that was at work says that it begins.');
      if (answer.text.length > mostAnswerChars)
        throw tooLarge(`would be answered with more than ${mostAnswerChars} characters`);
      return answer.text;
    } finally {
      worker.unref();
    }
  }

  async #answer({ worker, name }: ContractThread, order: ContractOrder): Promise<ContractThreadAnswer> {
    const { timeMs, memoryMb } = this.#limits;
    const over = new AbortController();
    const cancel = afterWorking(timeMs, name, () => over.abort());
    try {
      return await new Promise<ContractThreadAnswer>((resolve, reject) => {
        const gone = (error: unknown): void => {
          worker.off('message', answered);
          over.signal.removeEventListener('abort', tooLong);
          reject(
            isOutOfMemory(error) ? tooLarge(`take more than ${memoryMb} MB of memory`) : (error as Error), // in a worker
          );
        };
        const tooLong = (): void => {
          worker.off('error', gone);
          worker.off('message', answered);
          reject(tooLarge(`take longer than ${timeMs} ms`));
        };
        const answered = (answer: ContractThreadAnswer): void => {
          worker.off('error', gone);
          over.signal.removeEventListener('abort', tooLong);
          resolve(answer);
        };
        worker.once('error', gone);
        worker.once('message', answered);
        over.signal.addEventListener('abort', tooLong, { once: true });
        worker.postMessage(order);
      });
    } catch (error) {
      await this.#end();
      throw error;
    } finally {
      cancel();
    }
  }

  async #start(): Promise<ContractThread> {
    // The package has the thread as JavaScript next to this file; the sources have it as TypeScript.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
    const worker = new Worker(new URL(`./contract-thread${extension}`, import.meta.url), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: {
        maxOldGenerationSizeMb: this.#limits.memoryMb - youngMemoryMb,
        maxYoungGenerationSizeMb: youngMemoryMb,
      },
    });
    worker.on('error', () => undefined); // told to the request it was at work for
    const [ready] = (await once(worker, 'message')) as [ContractThreadAnswer];
    return { worker, name: ready.type === 'ready' ? ready.thread : undefined };
  }

  /** The thread has no database open, so it can be terminated at any moment. */
  async #end(): Promise<void> {
    const starting = this.#thread;
    this.#thread = undefined;
    const thread = await starting?.catch(() => undefined);
    await thread?.worker.terminate();
  }
}

/** Calls back once the thread has worked for this long. Returns a function that cancels this. */
function afterWorking(timeMs: number, thread: string | undefined, done: () => void): () => void {
  const takenMs = startThreadClock(thread ?? 'no thread');
  let timer: NodeJS.Timeout;
  const check = (): void => {
    const leftMs = timeMs - takenMs();
    if (leftMs <= 0) done();
    else timer = setTimeout(check, Math.ceil(leftMs));
  };
  timer = setTimeout(check, timeMs);
  return () => clearTimeout(timer);
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

const tooLarge = (why: string): HttpRefusal =>
  new HttpRefusal(
    'http.too_large',
    `These documents ${why}. Send fewer or shorter ones; \`quittance contracts check FILE\` has no such limit.`,
  );
