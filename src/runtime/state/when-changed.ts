import type { Call } from '../../call/call.ts';
import { dueAt, isHandoff } from '../../call/handoff.ts';
import type { DeadlineWatch } from '../../base/deadlines.ts';
import type { Engine } from './engine.ts';
import { orphanDeadline } from './orphan-deadline.ts';
import { stayAwake } from './stay-awake.ts';

/**
 * Resolves when another process changes the call, or when the signal is aborted. A hand-off also resolves
 * when it is due. A call between two attempts also resolves when no process is expected to continue it.
 */
export async function whenChanged(
  engine: Engine,
  call: Call,
  version: number,
  signal?: AbortSignal,
): Promise<void> {
  const { ledger } = engine;
  const at = isHandoff(call) ? dueAt(call) : orphanDeadline(call);
  if (at === undefined)
    return stayAwake(engine, ledger.journal.whenChanged(call.sessionId, call.callId, version, signal));
  // Polling an overdue call would otherwise accumulate listeners that no longer wait.
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const changed = ledger.journal.whenChanged(call.sessionId, call.callId, version, either);
  // An overdue call is polled at intervals, so that its waiters do not spin.
  const now = ledger.now();
  const due = until(engine, at > now ? at : now + lookAgainMs);
  try {
    await Promise.race([changed, due.promise]);
  } finally {
    due.stop();
    stop.abort();
  }
}

const lookAgainMs = 5_000;

type Due = { readonly promise: Promise<void>; stop(): void };

export const untilDue = (engine: Engine, call: Call): Due => until(engine, dueAt(call));

/**
 * Timers use the runtime's clock, leases use the ledger's, which may jump. The wait therefore checks it every
 * second.
 */
function until({ deadlines, ledger }: Engine, at: number): Due {
  const { promise, resolve } = Promise.withResolvers<void>();
  const left = (): number => Math.min(at - ledger.now(), longestSleepMs);
  let watch: DeadlineWatch | undefined;
  const look = (): void => {
    if (ledger.now() >= at) resolve();
    else watch = deadlines.watch(Math.max(1, left()), look);
  };
  look();
  return { promise, stop: () => watch?.stop() };
}

const longestSleepMs = 1_000;
