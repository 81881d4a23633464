/** The instructions for processes in tests about code that ends its process. See `poison-actor.ts`. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageArguments } from '../frameworks/suite/package-arguments.ts';

/** Every kind of code of the host or of a tool that recovery may run. */
export type Code =
  | 'body'
  | 'reconcile'
  | 'success check'
  | 'input schema'
  | 'output schema'
  | 'key'
  | 'cost'
  | 'resource keys'
  | 'preview'
  | 'cancel'
  | 'rule before'
  | 'rule after'
  | 'hook'
  | 'repair'
  | 'retry behavior'
  | 'onConfirm'
  | 'undo';

export type PoisonErrand = {
  readonly ledger: string;
  /** The code that does something to the call `poison`, and what. */
  readonly code?: Code;
  readonly does?: 'hang' | 'kill' | 'exit';
  /** Calls that need an approval. */
  readonly asks?: readonly string[];
  readonly holdMs?: number;
  /** The host has its own decider. It never answers. */
  readonly hasDecider?: boolean;
};

export type PoisonOrder =
  | {
      readonly type: 'submit';
      readonly callId: string;
      readonly tool: string;
      readonly sessionId?: string;
      readonly arguments?: Readonly<Record<string, unknown>>;
    }
  | { readonly type: 'call'; readonly callId: string; readonly tool: string }
  | { readonly type: 'undo'; readonly callId: string }
  | { readonly type: 'claim'; readonly tool: string; readonly leaseMs: number }
  | { readonly type: 'recover' };

export type PoisonActor = {
  /** Resolves once the code hangs. */
  readonly reached: Promise<unknown>;
  readonly ended: Promise<unknown>;
  /** How often the code ran. */
  runs(): number;
  tell(order: PoisonOrder): Promise<unknown>;
  kill(): Promise<void>;
};

export async function startPoisonActor(errand: PoisonErrand): Promise<PoisonActor> {
  const child = fork(join(import.meta.dirname, 'poison-actor.ts'), [JSON.stringify(errand)], {
    execArgv: [...packageArguments()],
  });
  const ready = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<unknown>();
  const answers = new Map<number, PromiseWithResolvers<unknown>>();
  let number = 0;
  let runs = 0;
  child.on('message', (message: unknown) => {
    if (message === 'ready') return ready.resolve();
    const told = message as { ran: string } | { reached: string } | Answered;
    if ('ran' in told) return void runs++;
    if ('reached' in told) return reached.resolve(told.reached);
    const waiting = answers.get(told.number);
    if (told.error === undefined) waiting?.resolve(told.value);
    else waiting?.reject(new Error(told.error));
  });
  const ended = once(child, 'exit').then(() => {
    for (const { promise, reject } of [ready, reached, ...answers.values()]) {
      promise.catch(() => undefined);
      reject(new Error('The process has ended.'));
    }
  });
  await ready.promise;
  return {
    reached: reached.promise,
    ended,
    runs: () => runs,
    tell(order) {
      const waiting = Promise.withResolvers<unknown>();
      waiting.promise.catch(() => undefined); // some orders kill the process that gets them
      answers.set(++number, waiting);
      child.send({ number, order });
      return waiting.promise;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

type Answered = { readonly number: number; readonly value?: unknown; readonly error?: string };
