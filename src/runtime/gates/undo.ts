import type { AcceptedCall } from '../state/accepted-call.ts';
import { undoneBy } from '../state/accepted-call.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { readUndoAttrs } from '../host/undo-attrs.ts';
import { whyNotUndo } from '../undo/undo-refusal.ts';
import type { Gate, Stop } from '../state/gate.ts';

/** For a call that undoes another one: can that one still be undone? Checked again after an approval. */
export const undoGate: Gate = {
  name: 'undo',
  check(live) {
    const undone = undoneBy(live);
    return undone === undefined ? undefined : look(live, undone);
  },
};

async function look({ engine, sessionId, facts }: AcceptedCall, callId: string): Promise<Stop | undefined> {
  const stored = await engine.ledger.journal.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  if (call === undefined) return refuse('conflict', `There is no call ${callId} to undo.`);
  const { force } = readUndoAttrs(facts.attrs);
  const refusal = await whyNotUndo(engine, engine.tools.get(call.toolName), call, force);
  if (refusal === undefined) return undefined;
  return refuse(refusal.code === 'undo.expired' ? 'expired' : 'conflict', refusal.message);
}

const refuse = (reason: 'expired' | 'conflict', details: string): Stop => ({
  type: 'deny',
  reason,
  code: reason === 'expired' ? 'confirmation.expired' : 'call.conflict',
  details,
});
