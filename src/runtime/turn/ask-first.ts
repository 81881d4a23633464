/**
 * Finds out whether a call needs an approval, for frameworks that ask before they run a tool. This passes the
 * gates without storing anything. When the call is made, it passes them again.
 */
import type { ParsedToolCall } from '../../call/tool-call.ts';
import type { PendingCall } from './await-reply.ts';
import { toPending } from './await-reply.ts';
import type { CallOptions } from '../host/call-options.ts';
import { acceptCall } from '../state/accepted-call.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { callKey } from '../state/call-key.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { gates } from '../gates/gates.ts';
import { keepInput } from '../input/kept-input.ts';
import { makeCall, waitedFor } from './make-call.ts';
import { withAskByMode } from './go-through-gates.ts';
import { toRequestDraft } from './request-draft.ts';
import { openQuestion } from '../state/call-reply.ts';
import type { TurnState } from '../state/turn-state.ts';
import { answerByGrant } from '../grants/answer-by-grant.ts';
import { walkAll } from '../gates/walk.ts';

/** If the call needs an approval, holds it and returns its question. Otherwise the call leaves no trace. */
export async function askFirst(
  state: RuntimeState,
  turn: TurnState,
  request: ParsedToolCall,
  options: CallOptions,
): Promise<PendingCall | undefined> {
  const { sessionId } = turn;
  const { id: callId } = request;
  if (!state.activeCalls.has(callKey({ sessionId, callId }))) {
    const stored = await state.engine.ledger.journal.readCall(sessionId, callId);
    if (stored !== undefined) {
      // Known calls are not taken on here. The caller who makes such a call takes it on or gets a conflict.
      const asked = openQuestion(foldStored(stored));
      return asked && toPending(callId, asked);
    }
    if (!state.closed && !(await wouldAsk(state, turn, request, options))) return undefined;
  }
  const reply = await makeCall(state, turn, request, options, waitedFor).reply;
  return reply?.type === 'held' ? toPending(callId, reply) : undefined;
}

/** A preview changes the record, so only the actual call makes one. */
const gatesToLookAt = gates.filter(({ name }) => name !== 'preview');

async function wouldAsk(
  state: RuntimeState,
  turn: TurnState,
  request: ParsedToolCall,
  options: CallOptions,
): Promise<boolean> {
  const { engine } = state;
  const raw = request.input.ok ? request.input.arguments : request.input.raw;
  const paths = engine.tools.get(request.name)?.redact?.input;
  const requested = keepInput(raw, paths, engine.redactor, engine.seal);
  const live = acceptCall(state, turn, request, requested, options, waitedFor);
  live.journal.apply(toRequestDraft(live));
  const walked = await walkAll(live, gatesToLookAt);
  if (walked.type === 'stopped') return false;
  const asks = withAskByMode(walked.live);
  return asks.length > 0 && (await answerByGrant(walked.live, asks)) === undefined;
}
