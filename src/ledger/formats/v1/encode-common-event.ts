/**
 * Fast encoders for the events of every call, because every call waits for them. Each must produce exactly what
 * `encodeEvent` writes from the table; a test compares the two.
 */
import type { JsonObject, JsonValue } from '../../../base/json.ts';
import type {
  CallEvent,
  ToolDecided,
  ToolRequested,
  ToolResponded,
  ToolStarted,
} from '../../../call/event.ts';
import type { ToolExecutionResult } from '../../../call/outcome.ts';
import type { ReadEvent } from '../../unknown-event.ts';
import type { EncodedEvent, Holder, Previous } from './encode-event.ts';
import { encodeEvent } from './encode-event.ts';
import { rename } from './encode-fields.ts';
import { eventTable, outcomeFields } from './event-table.ts';
import { quoteText } from './quote-text.ts';

/** Same result as `encodeEvent`, but faster. */
export function encodeCommonEvent(event: ReadEvent, holder: Holder, previous?: Previous): EncodedEvent {
  if ('unknownFields' in event || 'data' in event || event.sessionId !== holder.sessionId)
    return encodeEvent(event, holder, previous);
  if (!('callId' in event) || event.callId !== holder.callId) return encodeEvent(event, holder, previous);
  if (event.type === 'tool.requested') return encodeRequested(event, previous);
  if (event.type === 'tool.decided' && event.rules.length === 0 && event.artifacts.length === 0)
    return encodeDecided(event, previous);
  if (event.type === 'tool.started') return encodeStarted(event, previous);
  if (event.type === 'tool.responded' && event.outcome.type === 'ToolExecutionResult')
    if (event.outcome.callId === event.callId && event.rules.length === 0)
      return encodeResult(event, event.outcome, previous);
  return encodeEvent(event, holder, previous);
}

function encodeRequested(event: ToolRequested, previous: Previous | undefined): EncodedEvent {
  let text =
    `${head(event, previous)},"tool_name":${quoteText(event.toolName)}` +
    (event.displayName === event.toolName ? '' : `,"display_name":${quoteText(event.displayName)}`) +
    `,"mode":${quoteText(event.mode)},"mode_origin":${quoteText(event.modeOrigin)}`;
  if (event.hidden.length > 0) text += `,"hidden":${write(event.hidden)}`;
  text += `,"request_digest":${quoteText(event.requestDigest)}`;
  if (event.provenance !== undefined) text += `,"provenance":${write(event.provenance as JsonObject)}`;
  if (event.submitted) text += ',"submitted":true';
  if (event.schemaDigest !== undefined) text += `,"schema_digest":${quoteText(event.schemaDigest)}`;
  if (event.askedBy !== undefined) text += `,"asked_by":${write(event.askedBy)}`;
  if (event.separateDuties !== undefined) text += `,"separate_duties":${event.separateDuties}`;
  let body = `{"requested_input":${write(event.requestedInput)}`;
  if (event.principal !== undefined)
    body += `,"principal":${write(rename(event.principal as JsonObject, principalNames))}`;
  if (event.attrs !== undefined) body += `,"attrs":${write(event.attrs)}`;
  return { text: `${text}}`, body: `${body}}` };
}

function encodeDecided(event: ToolDecided, previous: Previous | undefined): EncodedEvent {
  let text = `${head(event, previous)},"decision":${quoteText(event.decision)}`;
  if (event.gates.length > 0) text += `,"gates":${write(rename(event.gates, gateNames))}`;
  if (event.decidedBy !== undefined) text += `,"decided_by":${write(event.decidedBy)}`;
  if (event.policyVersion !== undefined) text += `,"policy_version":${quoteText(event.policyVersion)}`;
  if (event.inputDigest !== undefined) text += `,"input_digest":${quoteText(event.inputDigest)}`;
  if (event.inputForm !== undefined) text += `,"input_form":${quoteText(event.inputForm)}`;
  if (event.changes.length > 0) text += `,"changes":${write(event.changes)}`;
  if (event.grantId !== undefined) text += `,"grant_id":${quoteText(event.grantId)}`;
  if (event.sideEffect !== undefined) text += `,"side_effect":${quoteText(event.sideEffect)}`;
  let body = '';
  if (event.effectiveInput !== undefined) body = `"effective_input":${write(event.effectiveInput)}`;
  if (event.acceptedInput !== undefined)
    body += `${body === '' ? '' : ','}"accepted_input":${write(event.acceptedInput)}`;
  return { text: `${text}}`, body: body === '' ? 'null' : `{${body}}` };
}

function encodeStarted(event: ToolStarted, previous: Previous | undefined): EncodedEvent {
  let text = `${head(event, previous)},"attempt":${event.attempt}`;
  if (event.idempotencyKey !== undefined) text += `,"idempotency_key":${quoteText(event.idempotencyKey)}`;
  text += `,"deadline_ms":${write(event.deadlineMs)},"may_rerun":${event.mayRerun}`;
  if (event.handoff) text += ',"handoff":true';
  if (event.stages.length > 0) text += `,"stages":${write(rename(event.stages, stageNames))}`;
  if (event.reserved.length > 0) text += `,"reserved":${write(event.reserved)}`;
  return { text: `${text}}`, body: 'null' };
}

/** The output is most of a call's stored data: it is written once, and is the content. */
function encodeResult(
  event: ToolResponded,
  outcome: ToolExecutionResult,
  previous: Previous | undefined,
): EncodedEvent {
  let text =
    `${head(event, previous)},"attempt":${event.attempt},"final":${event.final},"outcome":{"type":"ToolExecutionResult"` +
    `,"tool_name":${quoteText(outcome.toolName)},"elapsed_ms":${write(outcome.elapsedMs)}` +
    `,"was_coerced":${outcome.wasCoerced}`;
  if (outcome.undo !== undefined) text += `,"undo":${write(outcome.undo)}`;
  text += '}';
  if (event.toolSuccess !== undefined) text += `,"tool_success":${event.toolSuccess}`;
  if (event.error !== undefined) text += `,"error":${write({ reason: event.error.reason })}`;
  if (event.costMicros !== 0) text += `,"cost_micros":${write(event.costMicros)}`;
  if (event.unsettledEffect) text += ',"unsettled_effect":true';
  const output = write(outcome.output);
  let body = `{"outcome":{"output":${output}`;
  if (outcome.files !== undefined) body += `,"files":${write(rename(outcome.files, fileNames))}`;
  if (outcome.toolResult !== undefined) body += `,"tool_result":${write(outcome.toolResult as JsonObject)}`;
  if (outcome.modelNote !== undefined) body += `,"model_note":${write(outcome.modelNote)}`;
  body += '}';
  if (event.content !== output) body += `,"content":${write(event.content)}`;
  if (event.error !== undefined) body += `,"error":${write({ message: event.error.message })}`;
  if (event.payloadExtras !== undefined) body += `,"payload_extras":${write(event.payloadExtras)}`;
  if (event.reached.length > 0) body += `,"reached":${write(event.reached)}`;
  if (event.log.length > 0) body += `,"log":${write(event.log as readonly JsonObject[])}`;
  return { text: `${text}}`, body: `${body}}` };
}

/** The envelope of an event that belongs to the session and call of its entry. */
function head({ id, type, turnId, at, cause }: CallEvent, previous: Previous | undefined): string {
  let text = `{"id":${quoteText(id)},"type":"${type}"`;
  if (turnId !== previous?.turnId) text += `,"turn":${quoteText(turnId)}`;
  if (at !== previous?.at) text += `,"at":${write(at)}`;
  if (cause !== previous?.id) text += `,"cause":${cause === undefined ? 'null' : quoteText(cause)}`;
  return text;
}

const write = (value: JsonValue): string => JSON.stringify(value);

const principalNames = eventTable['tool.requested'].principal.inside;
const stageNames = eventTable['tool.started'].stages.inside;
const gateNames = eventTable['tool.decided'].gates.inside;
const fileNames = outcomeFields.files.inside;
