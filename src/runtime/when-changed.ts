import type { Call } from '../call/call.ts';
import { dueAt, isHandedOver } from '../call/handoff.ts';
import type { Watch } from './deadlines.ts';
import type { Engine } from './engine.ts';

/**
 * Resolves when somebody moves the call; for one that another process runs also when it is due, since whoever handed it
 * over may be gone.
 */
export async function whenChanged(engine: Engine, call: Call, version: number): Promise<void> {
  const { ledger } = engine;
  const changed = ledger.whenChanged(call.sessionId, call.callId, version);
  if (!isHandedOver(call)) return changed;
  const due = untilDue(engine, call);
  try {
    await Promise.race([changed, due.promise]);
  } finally {
    due.stop();
  }
}

/** Timers go by the runtime's clock, leases by the ledger's: whoever wakes too early sleeps on. */
export function untilDue(
  { deadlines, ledger }: Engine,
  call: Call,
): { readonly promise: Promise<void>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const at = dueAt(call);
  const left = (): number => Math.min(at - ledger.now(), longestSleepMs);
  let watch: Watch | undefined;
  const look = (): void => {
    if (ledger.now() >= at) resolve();
    else watch = deadlines.watch(Math.max(1, left()), look);
  };
  look();
  return { promise, stop: () => watch?.stop() };
}

const longestSleepMs = 3_600_000;
