/** The program of every thread that works on tasks: see `TaskThread`. */
import { parentPort, workerData } from 'node:worker_threads';
import type { QuittanceError } from '../base/error.ts';
import { isQuittanceError } from '../base/error.ts';
import { lowerPriority } from './priority.ts';
import { nameThisThread } from './thread-clock.ts';

/** What a module with a task exports as `begin`. It is called once, with the data of the thread. */
export type BeginTask<Data, Order, Answer, Progress = never> = (
  data: Data,
) => Task<Order, Answer, Progress> | Promise<Task<Order, Answer, Progress>>;

export type Task<Order, Answer, Progress = never> = {
  readonly work: (order: Order, during: Working<Progress>) => Answer | Promise<Answer>;
  /** After the last order. */
  readonly end?: () => void | Promise<void>;
};

export type Working<Progress> = {
  readonly signal: AbortSignal;
  readonly tell: (progress: Progress) => void;
};

export type WorkThreadData = {
  readonly module: string;
  readonly data: unknown;
  readonly niceness: number | undefined;
};
export type ToThread =
  | { readonly type: 'order'; readonly id: number; readonly order: unknown }
  | { readonly type: 'stop'; readonly id: number }
  | { readonly type: 'end' };
export type FromThread =
  | { readonly type: 'began'; readonly name: string | undefined }
  | { readonly type: 'progress'; readonly id: number; readonly progress: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: SentError };

type SentError = {
  readonly code: QuittanceError['code'] | undefined;
  readonly message: string;
  readonly facts: Readonly<Record<string, string>>;
  readonly stack: string | undefined;
};

if (parentPort !== null) {
  const port = parentPort;
  const { module, data, niceness } = workerData as WorkThreadData;
  if (niceness !== undefined) lowerPriority(niceness);
  const tell = (message: FromThread): void => port.postMessage(message);
  const working = new Map<number, { readonly stop: AbortController; readonly ended: Promise<void> }>();
  // The module is named by the file that starts the thread.
  const { begin } = (await import(module)) as {
    readonly begin: BeginTask<unknown, unknown, unknown, unknown>;
  };
  const task = await begin(data);

  const work = async (id: number, order: unknown, signal: AbortSignal): Promise<void> => {
    try {
      const answer = await task.work(order, {
        signal,
        tell: (progress) => tell({ type: 'progress', id, progress }),
      });
      tell({ type: 'answer', id, answer });
    } catch (error) {
      tell({ type: 'error', id, error: toSent(error) });
    }
    working.delete(id);
  };

  port.on('message', (message: ToThread) => {
    if (message.type === 'stop') working.get(message.id)?.stop.abort();
    else if (message.type === 'end')
      void Promise.all([...working.values()].map(({ ended }) => ended))
        .then(() => task.end?.())
        .finally(() => port.close());
    else {
      const stop = new AbortController();
      const ended = work(message.id, message.order, stop.signal);
      working.set(message.id, { stop, ended });
    }
  });
  tell({ type: 'began', name: nameThisThread() });
}

function toSent(error: unknown): SentError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (!isQuittanceError(error)) return { code: undefined, message, facts: {}, stack };
  return { code: error.code, message, facts: error.facts, stack };
}
