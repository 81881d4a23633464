import type { ToolOutcome } from '../../call/outcome.ts';
import type { PendingCall } from './await-told.ts';
import { toPending } from './await-told.ts';
import type { ActiveCall } from '../state/active-call.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { openQuestion } from '../state/told.ts';
import { whenChanged } from '../state/when-changed.ts';

/**
 * The outcome of a call, or the question that a person has yet to answer. Somebody may have answered since the call was
 * held: then it is being made, and may come to another question before it ends.
 */
export async function outcomeUnlessAsked(active: ActiveCall): Promise<ToolOutcome | PendingCall> {
  const { live } = active;
  const told = await active.told;
  if (told === undefined) throw new TypeError(`Call ${live.callId} is not being made.`);
  if (told.type !== 'held') return told;
  const { engine, sessionId, callId } = live;
  for (;;) {
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const confirmation = call?.confirmation;
    if (stored === undefined || call === undefined || confirmation === undefined)
      return toPending(callId, told);
    const asked = openQuestion(call);
    if (asked !== undefined) return toPending(callId, asked);
    const stop = new AbortController();
    const changed = whenChanged(engine, call, stored.version, stop.signal).then(() => undefined);
    const outcome = await Promise.race([told.rest, changed]).finally(() => stop.abort());
    if (outcome !== undefined) return outcome;
  }
}
