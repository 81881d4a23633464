/**
 * Calls tools for behaviors. The id of a call is made from the behavior, the event and the number of earlier
 * calls. After a crash, a redelivered event therefore finds its calls on record. On a retry after a failure,
 * only calls that did not succeed get a new id, so successful ones are not repeated.
 */
import type { JsonValue } from '../../base/json.ts';
import { QuittanceError } from '../../base/error.ts';
import { unwrap } from '../../call/outcome.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { openTurnState } from '../turn/open-turn.ts';
import { awaitReply, orPending } from '../turn/await-reply.ts';
import { makeCall, waitedFor } from '../turn/make-call.ts';
import { parseToolCall } from '../../call/tool-call.ts';
import type { BehaviorCall } from '../host/behavior.ts';
import type { Registration } from './registration.ts';
import type { Delivery } from './run-handler.ts';
import { turnOfEvent } from './run-handler.ts';

export async function callTool(
  state: RuntimeState,
  registration: Registration,
  delivery: Delivery,
  call: BehaviorCall,
  nth: number,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { engine } = state;
  const { sessionId } = turnOfEvent(delivery.event);
  if (typeof call !== 'object' || call === null)
    throw new QuittanceError(
      'call.malformed',
      'context.call takes a tool to call, e.g. context.call({ name: "notify", arguments: {} }).',
    );
  const { name, arguments: input, id } = call;
  const callId = id ?? (await idFor(state, sessionId, registration.name, delivery, nth));
  const turn = openTurnState(
    engine,
    {
      sessionId,
      timeoutMs: registration.timeoutMs,
      ...(registration.principal !== undefined && { principal: registration.principal }),
    },
    undefined,
    { eventId: delivery.event.id, depth: delivery.depth + 1 },
  );
  const options = { signal };
  const request = parseToolCall({ id: callId, name, arguments: input });
  const active = makeCall(state, turn, request, options, waitedFor);
  return unwrap(orPending(await awaitReply(active, turn, options)));
}

async function idFor(
  { engine }: RuntimeState,
  sessionId: string,
  behavior: string,
  { event, attempt }: Delivery,
  nth: number,
): Promise<string> {
  const idOf = (which: number): string =>
    `behavior:${behavior}:${event.id}:${nth}${which === 1 ? '' : `:${which}`}`;
  for (let earlier = 1; earlier < attempt; earlier++) {
    const stored = await engine.ledger.journal.readCall(sessionId, idOf(earlier));
    const call = stored && foldStored(stored);
    // A call that is active or held is rejoined.
    const type = call?.settled?.outcome.type;
    const isOpen = call !== undefined && type === undefined;
    if (isOpen || type === 'ToolExecutionResult' || type === 'ToolArtifactReference') return idOf(earlier);
  }
  return idOf(attempt);
}
