/** Recall: a call that is known is answered from its record, never made again. */
import type { Call } from '../call/call.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { StoredCall } from '../ledger/ledger.ts';
import type { CallInHand } from './call-in-hand.ts';
import { foldStored } from './fold-stored.ts';

/** The recorded outcome of a settled call; waits for one that somebody else is making. */
export async function recall(hand: CallInHand, known: StoredCall): Promise<ToolOutcome> {
  const { engine, turn, request } = hand;
  let stored = known;
  for (;;) {
    const call = foldStored(stored);
    if (call === undefined) throw new TypeError(`The ledger has a call ${request.id} without a request.`);
    if (call.toolName !== request.name || call.requestDigest !== hand.requested.digest)
      return conflict(hand, call);
    if (call.settled !== undefined) {
      await note(hand, call, 'cached', 'The recorded outcome was served again.');
      return call.settled.outcome;
    }
    await engine.ledger.whenChanged(turn.sessionId, request.id, stored.version);
    stored = (await engine.ledger.readCall(turn.sessionId, request.id)) ?? stored;
  }
}

/** Answers a request whose id belongs to another one. Never that call's outcome. */
export async function conflict(hand: CallInHand, call: Call): Promise<ToolOutcome> {
  const { request } = hand;
  const details =
    call.toolName === request.name
      ? `Call ${request.id} was made with other arguments; use a new id for a new call.`
      : `Call ${request.id} was a call of the tool "${call.toolName}"; use a new id for a new call.`;
  await note(hand, call, 'conflict', details);
  return Object.freeze({
    type: 'ToolDenied',
    callId: request.id,
    toolName: request.name,
    code: 'call.conflict',
    reason: 'conflict',
    details,
  });
}

async function note(
  hand: CallInHand,
  call: Call,
  how: 'cached' | 'conflict',
  details: string,
): Promise<void> {
  hand.rebase(call);
  await hand.remark({ type: 'recall', how, fromCallId: call.callId, details });
}
