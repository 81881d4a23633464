/** Gives work on typed documents to a thread, within limits of time, memory and number. */
import { behindServer } from 'quittance/internal/threads/priority';
import { TaskThread, isOutOfMemory, taskModule } from 'quittance/internal/threads/task-thread';
import { startThreadClock } from 'quittance/internal/threads/thread-clock';
import type { ContractOrder } from './contract-work.ts';
import { FairQueue } from './fair-queue.ts';
import { HttpRefusal } from './problem.ts';

export type ContractLimits = {
  /** Of work for one request: see thread-clock.ts. */
  readonly timeMs: number;
  /** The limit of the thread; one request gets less. */
  readonly memoryMb: number;
};

/** The part of the thread's memory for short-lived values. */
const youngMemoryMb = 8;
const mostAnswerChars = 1_048_576;

type ContractThread = TaskThread<ContractOrder, string>;

export class ContractThreads {
  readonly #limits: ContractLimits;
  readonly #queue = new FairQueue('contracts to be read', {
    running: 1,
    waiting: 32,
    waitingPerCaller: 4,
    restAfterMs: 50,
    restTimes: 3,
  });
  #thread: ContractThread | undefined;

  constructor(limits: ContractLimits) {
    this.#limits = limits;
  }

  /** JSON text. Throws 413 if the work takes too much, 429 if too much waits, or the problems of the documents. */
  run(caller: string, signal: AbortSignal, order: ContractOrder): Promise<string> {
    return this.#queue.run(caller, signal, () => this.#work(order));
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }

  async #work(order: ContractOrder): Promise<string> {
    if (this.#thread?.isAlive !== true) this.#thread = this.#start();
    const thread = this.#thread;
    const { timeMs, memoryMb } = this.#limits;
    const tooLong = Promise.withResolvers<never>();
    const cancel = afterWorking(timeMs, await thread.name, () => {
      tooLong.reject(tooLarge(`take longer than ${timeMs} ms`));
      // It has no database open, so it can be ended at any moment.
      void this.close();
    });
    try {
      const text = await Promise.race([thread.order(order), tooLong.promise]);
      if (text.length <= mostAnswerChars) return text;
    } catch (error) {
      throw isOutOfMemory(error) ? tooLarge(`take more than ${memoryMb} MB of memory`) : error;
    } finally {
      cancel();
    }
    throw tooLarge(`would be answered with more than ${mostAnswerChars} characters`);
  }

  #start(): ContractThread {
    return new TaskThread({
      module: taskModule('contract-task', import.meta.url),
      data: undefined,
      niceness: behindServer,
      memory: {
        maxOldGenerationSizeMb: this.#limits.memoryMb - youngMemoryMb,
        maxYoungGenerationSizeMb: youngMemoryMb,
      },
    });
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

const tooLarge = (why: string): HttpRefusal =>
  new HttpRefusal(
    'http.too_large',
    `These documents ${why}. Send fewer or shorter ones; \`quittance contracts check FILE\` has no such limit.`,
  );
