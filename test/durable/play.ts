/**
 * Shared by tests with real processes: a folder, a world that counts effects, and actors to start and kill.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolOutcome } from 'quittance';
import type { World } from '../../bench/crash/world.ts';
import { openWorld } from '../../bench/crash/world.ts';
import { packageArguments, sourceArguments } from '../frameworks/suite/package-arguments.ts';
import { openBare } from '../bare-database.ts';

/** The settings of an actor. */
export type Errand = {
  readonly ledger: string;
  readonly world: string;
  /** What bodies do after their effect. */
  readonly afterwards?: 'hang' | 'wait' | 'fill';
  /** Calls whose bodies kill the process after their effect. */
  readonly poison?: readonly string[];
  readonly waitMs?: number;
  readonly spillBytes?: number;
  /** How many calls all actors may make together. */
  readonly budget?: number;
  /** The text of their rules. */
  readonly contracts?: string;
  readonly concurrency?: number;
  /** How many descriptors the process may have open. */
  readonly descriptors?: number;
};

export type CallOrder = {
  readonly sessionId: string;
  readonly callId: string;
  readonly tool: string;
  readonly args?: Readonly<Record<string, unknown>>;
};

/** The orders for an actor. */
export type Order =
  | ({ readonly type: 'call' } & CallOrder)
  | { readonly type: 'calls'; readonly calls: readonly CallOrder[] }
  /** Claims a hand-off of the tool, if one waits; has its effect; reports unless it hangs. */
  | { readonly type: 'work'; readonly tool: string; readonly leaseMs?: number }
  | { readonly type: 'recover' | 'close' }
  /** Answers once the call is accepted. */
  | ({ readonly type: 'submit' } & CallOrder)
  /** Opens descriptors until none are left; closes them again. */
  | { readonly type: 'starve' | 'feed' }
  /** Releases the bodies that hang. */
  | { readonly type: 'release' };

export type Answer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string };

export type Actor = {
  /** Resolves once a body has had its effect and hangs. */
  readonly reached: Promise<string>;
  tell(order: Order): Promise<unknown>;
  call(callId: string, tool: string, args?: CallOrder['args'], sessionId?: string): Promise<ToolOutcome>;
  kill(): Promise<void>;
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>;
  /** Stops the process at a moment when it has locked nothing, because others would wait for the lock. */
  stop(): Promise<void>;
  goOn(): void;
};

export type Play = {
  readonly folder: string;
  readonly ledger: string;
  readonly world: World;
  start(errand?: Omit<Errand, 'ledger' | 'world'>): Promise<Actor>;
  /** Ends every remaining process. */
  end(): void;
};

export async function openPlay(): Promise<Play> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-durable-'));
  const ledger = join(folder, 'ledger.db');
  const world = await openWorld();
  const children = new Set<ChildProcess>();
  return {
    folder,
    ledger,
    world,
    async start(errand = {}) {
      const told: Errand = { ledger, world: world.url, ...errand };
      const child = spawn(
        'sh',
        [
          '-c',
          `${told.descriptors === undefined ? '' : `ulimit -n ${told.descriptors}; `}exec "$0" "$@"`,
          process.execPath,
          // An actor that fills its disk uses parts of the store that the package does not export.
          ...(told.afterwards === 'fill' ? sourceArguments : packageArguments()),
          join(import.meta.dirname, 'actor.ts'),
          JSON.stringify(told),
        ],
        { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
      );
      children.add(child);
      return direct(child, ledger);
    },
    end() {
      for (const child of children) child.kill('SIGKILL');
      world.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function direct(child: ChildProcess, ledger: string): Promise<Actor> {
  const reached = Promise.withResolvers<string>();
  const ready = Promise.withResolvers<undefined>();
  const answers = new Map<number, PromiseWithResolvers<unknown>>();
  let number = 0;
  child.on('message', (message: unknown) => {
    if (message === 'ready') return ready.resolve(undefined);
    const told = message as { reached: string } | { number: number; answer: Answer };
    if ('reached' in told) return reached.resolve(told.reached);
    const waiting = answers.get(told.number);
    if (told.answer.ok) waiting?.resolve(told.answer.value);
    else waiting?.reject(new Error(told.answer.error));
  });
  child.once('exit', (code, signal) => {
    const gone = new Error(`The actor is gone: ${signal ?? code}`);
    for (const { promise, reject } of [ready, reached, ...answers.values()]) {
      promise.catch(() => undefined);
      reject(gone);
    }
  });
  const tell = (order: Order): Promise<unknown> => {
    const waiting = Promise.withResolvers<unknown>();
    waiting.promise.catch(() => undefined); // some orders kill the process that gets them
    answers.set(++number, waiting);
    child.send({ number, order });
    return waiting.promise;
  };
  const ended = once(child, 'exit');
  await ready.promise;
  return {
    ended,
    reached: reached.promise,
    tell,
    call: async (callId, tool, args = {}, sessionId = 's') =>
      (await tell({ type: 'call', sessionId, callId, tool, args })) as ToolOutcome,
    async kill() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    async stop() {
      child.kill('SIGSTOP');
      while (isLocked(ledger)) {
        child.kill('SIGCONT');
        await new Promise((resolve) => setTimeout(resolve, 20));
        child.kill('SIGSTOP');
      }
    },
    goOn: () => void child.kill('SIGCONT'),
  };
}

function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  // A running process keeps a lock for less than this. Only a stopped one has it afterwards.
  const database = openBare(path);
  try {
    database.exec('BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}
