import type { ToolOutcome } from '../../call/outcome.ts';
import type { PendingCall } from './await-reply.ts';
import { toPending } from './await-reply.ts';
import type { ActiveCall } from '../state/active-call.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { openQuestion } from '../state/call-reply.ts';
import { whenChanged } from '../state/when-changed.ts';

/**
 * The outcome of a call, or its open question. A person may have answered since the call was held. Then the
 * call runs, and may meet another question before it ends.
 */
export async function outcomeOrPending(active: ActiveCall): Promise<ToolOutcome | PendingCall> {
  const { live } = active;
  const reply = await active.reply;
  if (reply === undefined) throw new TypeError(`Call ${live.callId} is not being made.`);
  if (reply.type !== 'held') return reply;
  const { engine, sessionId, callId } = live;
  for (;;) {
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const confirmation = call?.confirmation;
    if (stored === undefined || call === undefined || confirmation === undefined)
      return toPending(callId, reply);
    const asked = openQuestion(call);
    if (asked !== undefined) return toPending(callId, asked);
    const stop = new AbortController();
    const changed = whenChanged(engine, call, stored.version, stop.signal).then(() => undefined);
    const outcome = await Promise.race([reply.rest, changed]).finally(() => stop.abort());
    if (outcome !== undefined) return outcome;
  }
}
