import type { Call } from '../../call/call.ts';
import { dueAt, isHandoff } from '../../call/handoff.ts';
import type { DeadlineWatch } from '../../base/deadlines.ts';
import type { Engine } from './engine.ts';
import { orphanDeadline } from './orphan-deadline.ts';
import { stayAwake } from './stay-awake.ts';

/**
 * Resolves when somebody moves the call, or for whoever waits no more; for one that another process runs also when it is
 * due, and for one between two attempts when nobody is waited for any more who could go on with it: whoever was at it
 * may be gone.
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
  // Looked at again and again, an overdue call would otherwise gather those who have long stopped waiting.
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const changed = ledger.journal.whenChanged(call.sessionId, call.callId, version, either);
  // One that is overdue, whoever sees to it, is looked at now and then: those who look would else do nothing else.
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
 * Timers go by the runtime's clock, leases by the ledger's, which may jump: the wait looks at it every second.
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
