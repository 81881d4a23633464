/** Two requests with one id: are they the same call? */
import type { JsonValue } from '../../base/json.ts';
import type { ParsedArguments, ParsedToolCall } from '../../call/tool-call.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { ActiveCall } from '../state/active-call.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { KeptInput } from '../input/kept-input.ts';
import { isDigestOf } from '../input/kept-input.ts';
import { recall } from '../settle/recall.ts';
import type { CallReply } from '../state/call-reply.ts';
import { unavailable } from '../settle/unavailable.ts';

export const isSameRequest = (
  known: AcceptedCall,
  { name, input }: ParsedToolCall,
  { digest }: KeptInput,
): boolean =>
  known.request.name === name &&
  (known.requested.digest === digest || isDigestOf(known.requested.digest, rawOf(input), known.engine.seal));

export const rawOf = (input: ParsedArguments): JsonValue => (input.ok ? input.arguments : input.raw);

/**
 * Handles a different request with the id of an active call. It waits until the ledger knows the active call,
 * then answers with a conflict. If the ledger has this request instead, or neither, the request is made like
 * a new one.
 */
export async function refuseConflict(
  known: ActiveCall,
  live: AcceptedCall,
  makeAgain: () => Promise<CallReply> | undefined,
): Promise<CallReply> {
  const { request, engine, turn } = live;
  await Promise.race([known.live.journal.whenKept(), known.reply]);
  const stored = await engine.ledger.journal.readCall(turn.sessionId, request.id);
  const call = stored && foldStored(stored);
  const isOther =
    call?.toolName !== request.name || !isDigestOf(call.requestDigest, rawOf(request.input), engine.seal);
  if (stored !== undefined && isOther) return recall(live, stored);
  await known.reply;
  return makeAgain() ?? unavailable(live, 'another call with this id was not accepted either');
}
