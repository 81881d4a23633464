/**
 * Fast encoders for the events of every call, because every call waits for them. Each must produce exactly what
 * `encodeEvent` writes from the table; a test compares the two.
 */
import type { JsonObject } from '../../../base/json.ts';
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

/** Same result as `encodeEvent`, but faster. */
export function encodeCommonEvent(event: ReadEvent, holder: Holder, previous?: Previous): EncodedEvent {
  if ('unknownFields' in event || 'data' in event || event.sessionId !== holder.sessionId)
    return encodeEvent(event, holder, previous);
  if (!('callId' in event) || event.callId !== holder.callId) return encodeEvent(event, holder, previous);
  if (event.type === 'tool.requested' && event.budgets === undefined) return encodeRequested(event, previous);
  if (event.type === 'tool.decided' && event.rules.length === 0 && event.artifacts.length === 0)
    return encodeDecided(event, previous);
  if (event.type === 'tool.started') return encodeStarted(event, previous);
  if (event.type === 'tool.responded' && event.outcome.type === 'ToolExecutionResult')
    if (event.outcome.callId === event.callId && event.rules.length === 0)
      return encodeResult(event, event.outcome, previous);
  return encodeEvent(event, holder, previous);
}

/** Members that are undefined are not written. */
const write = (value: unknown): string => JSON.stringify(value);

function encodeRequested(event: ToolRequested, previous: Previous | undefined): EncodedEvent {
  return {
    text: {
      id: event.id,
      type: event.type,
      turn: newTurn(event, previous),
      at: newTime(event, previous),
      cause: newCause(event, previous),
      tool_name: event.toolName,
      display_name: event.displayName === event.toolName ? undefined : event.displayName,
      mode: event.mode,
      mode_origin: event.modeOrigin,
      hidden: unlessEmpty(event.hidden),
      request_digest: event.requestDigest,
      provenance: event.provenance,
      submitted: event.submitted || undefined,
      schema_digest: event.schemaDigest,
      traceparent: event.traceparent,
      asked_by: event.askedBy,
      separate_duties: event.separateDuties,
      hidden_ids: event.hiddenIds,
      turn_deadline_ms: event.turnDeadlineMs,
    },
    body: write({
      requested_input: event.requestedInput,
      principal:
        event.principal === undefined ? undefined : rename(event.principal as JsonObject, principalNames),
      attrs: event.attrs,
    }),
  };
}

function encodeDecided(event: ToolDecided, previous: Previous | undefined): EncodedEvent {
  const { effectiveInput, acceptedInput } = event;
  return {
    text: {
      id: event.id,
      type: event.type,
      turn: newTurn(event, previous),
      at: newTime(event, previous),
      cause: newCause(event, previous),
      decision: event.decision,
      gates: event.gates.length === 0 ? undefined : rename(event.gates, gateNames),
      decided_by: event.decidedBy,
      policy_version: event.policyVersion,
      input_digest: event.inputDigest,
      input_form: event.inputForm,
      changes: unlessEmpty(event.changes),
      grant_id: event.grantId,
      side_effect: event.sideEffect,
    },
    body:
      effectiveInput === undefined && acceptedInput === undefined
        ? 'null'
        : write({ effective_input: effectiveInput, accepted_input: acceptedInput }),
  };
}

function encodeStarted(event: ToolStarted, previous: Previous | undefined): EncodedEvent {
  return {
    text: {
      id: event.id,
      type: event.type,
      turn: newTurn(event, previous),
      at: newTime(event, previous),
      cause: newCause(event, previous),
      attempt: event.attempt,
      idempotency_key: event.idempotencyKey,
      deadline_ms: event.deadlineMs,
      may_rerun: event.mayRerun,
      handoff: event.handoff || undefined,
      stages: event.stages.length === 0 ? undefined : rename(event.stages, stageNames),
      reserved: unlessEmpty(event.reserved),
    },
    body: 'null',
  };
}

/** The output is most of a call's stored data: it is written once, and is the content. */
function encodeResult(
  event: ToolResponded,
  outcome: ToolExecutionResult,
  previous: Previous | undefined,
): EncodedEvent {
  const text = {
    id: event.id,
    type: event.type,
    turn: newTurn(event, previous),
    at: newTime(event, previous),
    cause: newCause(event, previous),
    attempt: event.attempt,
    final: event.final,
    outcome: {
      type: outcome.type,
      tool_name: outcome.toolName,
      elapsed_ms: outcome.elapsedMs,
      was_coerced: outcome.wasCoerced,
      undo: outcome.undo,
    },
    tool_success: event.toolSuccess,
    error: event.error && { reason: event.error.reason },
    cost_micros: event.costMicros === 0 ? undefined : event.costMicros,
    unsettled_effect: event.unsettledEffect || undefined,
  };
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
  return { text, body: `${body}}` };
}

/** The fields of an event that are written only if they differ from the event before it in the entry. */
const newTurn = ({ turnId }: CallEvent, previous: Previous | undefined): string | undefined =>
  turnId === previous?.turnId ? undefined : turnId;
const newTime = ({ at }: CallEvent, previous: Previous | undefined): number | undefined =>
  at === previous?.at ? undefined : at;
const newCause = ({ cause }: CallEvent, previous: Previous | undefined): string | null | undefined =>
  cause === previous?.id ? undefined : (cause ?? null);

const unlessEmpty = <Item>(list: readonly Item[]): readonly Item[] | undefined =>
  list.length === 0 ? undefined : list;

const principalNames = eventTable['tool.requested'].principal.inside;
const stageNames = eventTable['tool.started'].stages.inside;
const gateNames = eventTable['tool.decided'].gates.inside;
const fileNames = outcomeFields.files.inside;
