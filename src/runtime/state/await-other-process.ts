import { QuittanceError } from '../../base/error.ts';
import type { Call } from '../../call/call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { AcceptedCall } from './accepted-call.ts';
import type { Asker } from './call-services.ts';
import { untilOrphan } from './until-orphan.ts';
import { whenChanged } from './when-changed.ts';

/**
 * Waits until another process changes the call, or is gone: this call, or one with the same idempotency key. That
 * process may be stopped or take for ever, so a closed runtime stops waiting. It then throws `call.pending`, and the
 * call stays open. It also throws if the call has ended meanwhile, e.g. by its deadline; no caller sees that
 * error.
 */
export async function awaitOtherProcess(
  live: AcceptedCall,
  call: Call,
  stored: StoredCall,
  asker: Asker,
): Promise<void> {
  const stop = new AbortController();
  const over = new AbortController();
  const leave = (): void => stop.abort();
  live.signals.onLeave = leave;
  live.signals.abandon = leave;
  if (live.signals.left) leave();
  const orphan = untilOrphan(live, stored, call, asker);
  const either = AbortSignal.any([stop.signal, over.signal]);
  try {
    await Promise.race([whenChanged(live.engine, call, stored.version, either), orphan.promise]);
  } finally {
    orphan.stop();
    over.abort();
    if (live.signals.onLeave === leave) live.signals.onLeave = undefined;
    if (live.signals.abandon === leave) live.signals.abandon = undefined;
  }
  if (!stop.signal.aborted) return;
  // The next runtime on the ledger may continue it.
  if (live.signals.left) live.journal.owned = false;
  const isOther = call.callId !== live.callId || call.sessionId !== live.sessionId;
  throw new QuittanceError(
    'call.pending',
    (isOther
      ? `Call ${live.callId} waits for call ${call.callId}, which has the same idempotency key, and this runtime was closed. `
      : `Another process makes call ${live.callId}, and this runtime was closed. `) +
      'Ask again with the same id in another runtime on the same ledger.',
    { callId: live.callId },
  );
}
