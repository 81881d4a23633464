/**
 * Every event type of format 1: the name of each field on disk, and whether it is in the chained text or in the body.
 * The text has what is needed to check the order, to fold the status and to search. The body has everything that a
 * person may have a right to have erased.
 *
 * Names are permanent. A field may be added as an optional one; none may be renamed, moved or dropped.
 */
import type {
  ArtifactArgument,
  EventType,
  QuittanceEvent,
  RuleMark,
  ToolRequested,
  ToolResponded,
} from '../../../call/event.ts';
import type { ToolOutcome } from '../../../call/outcome.ts';
import type { FallenVote } from '../../../call/vote.ts';
import type { ReadEvent } from '../../unknown-event.ts';
import type { Field, FieldTable, Names } from './field.ts';
import { body, ERASED, text } from './field.ts';
import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { isJsonObject } from '../../../base/json.ts';
import type { EmittedEvent } from '../../../call/emitted-event.ts';
import { isReservedEventType, isEmittedEvent } from '../../../call/emitted-event.ts';

type Envelope = 'id' | 'type' | 'sessionId' | 'turnId' | 'callId' | 'at' | 'cause';
type KeyOf<Union> = Union extends unknown ? keyof Union : never;
type FieldsOf<Type extends EventType> = {
  readonly [Name in Exclude<keyof Extract<QuittanceEvent, { type: Type }>, Envelope>]: Field;
};

const optional = true;
const none = [] as const;
const erasedText = { erased: { value: ERASED } } as const;
const erasedPayload = { erased: { value: null } } as const;

const principal = {
  inside: { userId: 'user_id', serviceId: 'service_id', orgId: 'org_id', ticketRef: 'ticket_ref' },
} as const;

const file = { artifactId: 'artifact_id', mimeType: 'mime_type', sizeBytes: 'size_bytes' } as const;

/** The fields of the five outcomes. `call_id` is written only if it differs from that of the event. */
export const outcomeFields: { readonly [Name in KeyOf<ToolOutcome>]: Field } = {
  type: text('type'),
  callId: text('call_id'),
  toolName: text('tool_name'),
  code: text('code', { optional }),
  reason: text('reason', { optional }),
  retryable: text('retryable', { optional }),
  inDoubt: text('in_doubt', { optional }),
  blocksTool: text('blocks_tool', { optional }),
  finished: text('finished', { optional }),
  elapsedMs: text('elapsed_ms', { optional }),
  wasCoerced: text('was_coerced', { optional }),
  deadlineMs: text('deadline_ms', { optional }),
  artifactId: text('artifact_id', { optional }),
  sizeBytes: text('size_bytes', { optional }),
  output: body('output', { optional, erased: { value: null, of: 'ToolExecutionResult' } }),
  error: body('error', { optional, erased: { value: ERASED, of: 'ToolFailure' } }),
  details: body('details', { optional, erased: { value: ERASED, of: 'ToolDenied' } }),
  summary: body('summary', { optional, erased: { value: ERASED, of: 'ToolArtifactReference' } }),
  digest: body('digest', { optional }),
  payloadExtras: body('payload_extras', { optional }),
  files: body('files', { optional, inside: file }),
  toolResult: body('tool_result', { optional }),
  modelNote: body('model_note', { optional }),
  undo: text('undo', { optional }),
};

/** The fields of an artifact in arguments. Its content and its path may be erased. */
const artifactFields = {
  artifactId: text('artifact_id'),
  sizeBytes: text('size_bytes'),
  mimeType: body('mime_type', erasedText),
  inPlace: text('in_place'),
  digest: body('digest', erasedText),
  path: body('path', { erased: { value: [] } }),
  preview: body('preview', erasedText),
} as const satisfies { readonly [Name in keyof ArtifactArgument]: Field };

const ruleFields = {
  ruleId: text('rule'),
  action: text('action'),
  message: body('message', erasedText),
  tags: text('tags', { optional }),
  metadata: body('metadata', { optional }),
  observed: text('observed', { optional }),
  policyError: text('policy_error', { optional }),
} satisfies { readonly [Name in keyof RuleMark]-?: Field };

/** A vote whose right has ended. The reason may be a text of the host. */
const fallenFields = {
  by: text('by'),
  decision: text('decision'),
  at: text('at'),
  why: body('why', erasedText),
} as const satisfies { readonly [Name in keyof FallenVote]: Field };

const workflowFields = {
  workflow: text('workflow'),
  workflowVersion: text('workflow_version'),
  /** Contains the files read and the commands run. */
  state: body('state', { erased: { value: {} } }),
} as const;

export const eventTable: { readonly [Type in EventType]: FieldsOf<Type> } = {
  'session.forked': {
    fromSessionId: text('from_session_id'),
    atCallId: text('at_call_id'),
    position: text('position'),
    after: text('after'),
  },
  'turn.opened': {
    deadlineMs: text('deadline_ms'),
    parentSessionId: text('parent_session_id'),
    principal: body('principal', principal),
  },
  'turn.ended': { why: text('why') },
  'tool.requested': {
    toolName: text('tool_name'),
    /** Absent if it equals the name. */
    displayName: text('display_name'),
    mode: text('mode'),
    modeOrigin: text('mode_origin'),
    risk: text('risk', { optional }),
    requestedInput: body('requested_input', erasedPayload),
    hidden: text('hidden', { absent: none }),
    requestDigest: text('request_digest'),
    principal: body('principal', principal),
    provenance: text('provenance'),
    attrs: body('attrs'),
    submitted: text('submitted', { absent: false }),
    schemaDigest: text('schema_digest'),
    traceparent: text('traceparent'),
    askedBy: text('asked_by', { optional }),
    separateDuties: text('separate_duties', { optional }),
    hiddenIds: text('hidden_ids', { optional }),
    budgets: text('budgets', { optional, inside: { perDay: 'per_day' } }),
    turnDeadlineMs: text('turn_deadline_ms', { optional }),
  },
  'tool.recalled': {
    how: text('how'),
    fromCallId: text('from_call_id'),
    details: body('details', erasedText),
  },
  'tool.decided': {
    decision: text('decision'),
    gates: text('gates', { absent: none, inside: { elapsedUs: 'elapsed_us' } }),
    decidedBy: text('decided_by'),
    policyVersion: text('policy_version'),
    effectiveInput: body('effective_input'),
    inputDigest: text('input_digest'),
    inputForm: text('input_form'),
    acceptedInput: body('accepted_input'),
    artifacts: text('artifacts', { absent: none, items: artifactFields }),
    changes: text('changes', { absent: none }),
    rules: text('rules', { absent: none, items: ruleFields }),
    grantId: text('grant_id'),
    sideEffect: text('side_effect'),
    comparison: body('comparison', { inside: { callId: 'call_id' } }),
  },
  'tool.held': {
    confirmationId: text('confirmation_id'),
    description: body('description', erasedText),
    asks: text('asks', {
      items: {
        by: text('by'),
        description: body('description', erasedText),
        code: text('code', { optional }),
        digest: text('digest', { optional }),
        timeoutSeconds: text('timeout_s', { optional }),
        timeoutEffect: text('timeout_effect', { optional }),
        stage: text('stage', { optional, inside: { stageId: 'stage_id' } }),
        approval: text('approval', { optional }),
      },
    }),
    inputDigest: text('input_digest'),
    revision: text('revision'),
    expiresAt: text('expires_at'),
    timeoutEffect: text('timeout_effect', { absent: 'block' }),
    risk: text('risk', { absent: none }),
    schemaDigest: text('schema_digest'),
    comparison: body('comparison', { inside: { callId: 'call_id' } }),
    supersedes: text('supersedes', { inside: { sessionId: 'session_id', callId: 'call_id' } }),
  },
  'tool.previewed': {
    operationId: text('operation_id'),
    revision: text('revision'),
    ready: text('ready'),
    preview: body('preview', { erased: { value: { kind: 'text', text: ERASED } } }),
    snapshot: body('snapshot', { erased: { value: {} } }),
    hidden: text('hidden', { absent: none }),
    inputDigest: text('input_digest'),
    expiresAt: text('expires_at'),
  },
  'confirmation.expired': {
    confirmationId: text('confirmation_id'),
    effect: text('effect'),
    by: text('by'),
  },
  'confirmation.decided': {
    confirmationId: text('confirmation_id'),
    decision: text('decision'),
    by: text('by'),
    reason: body('reason'),
    inputDigest: text('input_digest'),
    revision: text('revision'),
    editedInput: body('edited_input'),
    editedDigest: text('edited_digest'),
    editedHidden: text('edited_hidden', { absent: none }),
    editedForm: text('edited_form'),
    editedAccepted: body('edited_accepted'),
    editedArtifacts: text('edited_artifacts', { absent: none, items: artifactFields }),
    response: body('response', { erased: { value: ERASED, of: 'respond', by: 'decision' } }),
    receivedAt: text('received_at'),
    session: text('session_bounds', { optional }),
    fallen: text('fallen', { optional, items: fallenFields }),
  },
  'confirmation.voted': {
    confirmationId: text('confirmation_id'),
    decision: text('decision'),
    by: text('by'),
    reason: body('reason'),
    inputDigest: text('input_digest'),
    revision: text('revision'),
    editedInput: body('edited_input'),
    editedDigest: text('edited_digest'),
    editedHidden: text('edited_hidden', { absent: none }),
    editedForm: text('edited_form'),
    editedAccepted: body('edited_accepted'),
    editedArtifacts: text('edited_artifacts', { absent: none, items: artifactFields }),
    session: text('session_bounds', { optional }),
    fallen: text('fallen', { optional, items: fallenFields }),
  },
  'confirmation.reminded': {
    confirmationId: text('confirmation_id'),
    kind: text('kind'),
    dueAt: text('due_at'),
    missing: text('missing'),
  },
  'confirmation.withdrawn': {
    confirmationId: text('confirmation_id'),
    reason: body('reason', erasedText),
  },
  'tool.started': {
    attempt: text('attempt'),
    idempotencyKey: text('idempotency_key'),
    deadlineMs: text('deadline_ms'),
    mayRerun: text('may_rerun'),
    handoff: text('handoff', { absent: false }),
    stages: text('stages', { absent: none, inside: { stageId: 'stage_id' } }),
    reserved: text('reserved', { absent: none }),
  },
  'tool.responded': {
    attempt: text('attempt'),
    final: text('final'),
    outcome: text('outcome', { fields: outcomeFields }),
    /** Absent if it is the output as JSON. */
    content: body('content', erasedText),
    toolSuccess: text('tool_success'),
    error: text('error', { fields: { reason: text('reason'), message: body('message', erasedText) } }),
    payloadExtras: body('payload_extras'),
    costMicros: text('cost_micros', { absent: 0 }),
    reached: body('reached', { absent: none }),
    log: body('log', { absent: none }),
    unsettledEffect: text('unsettled_effect', { absent: false }),
    rules: text('rules', { absent: none, items: ruleFields }),
  },
  'tool.late': {
    attempt: text('attempt'),
    elapsedMs: text('elapsed_ms'),
    result: text('result', {
      fields: {
        type: text('type'),
        output: body('output', { optional, erased: { value: null, of: 'returned' } }),
        cutFromChars: text('cut_from_chars', { optional }),
        error: body('error', { optional, erased: { value: ERASED, of: 'threw' } }),
      },
    }),
  },
  'tool.taken_over': { previousOwner: text('previous_owner'), takeover: text('takeover') },
  'tool.reported': {
    attempt: text('attempt'),
    worker: text('worker'),
    identity: text('identity', { optional }),
    what: text('what', {
      inside: {
        expiresAt: 'expires_at',
        tokenDigest: 'token_digest',
        requestId: 'request_id',
        replaces: 'replaces',
      },
    }),
  },
  'tool.undone': { undoCallId: text('undo_call_id'), by: text('by'), reason: body('reason') },
  'tool.resolved': {
    resolution: text('resolution'),
    by: text('by'),
    reason: body('reason'),
    result: body('result'),
  },
  'persistence.failed': {
    boundary: text('boundary'),
    error: body('error', erasedText),
    keptIn: text('kept_in'),
    result: body('result'),
  },
  'call.not_accepted': {
    refusedCallId: text('refused_call'),
    toolName: text('tool_name'),
    mode: text('mode'),
    modeOrigin: text('mode_origin'),
    principal: body('principal', principal),
    boundary: text('boundary'),
    error: body('error', erasedText),
    failedAt: text('failed_at'),
  },
  'persistence.unlisted': {
    count: text('count'),
    firstAt: text('first_at'),
    lastAt: text('last_at'),
    error: body('error', erasedText),
  },
  'runtime.budget_exhausted': {
    scope: text('scope'),
    metric: text('metric'),
    limit: text('limit'),
    used: text('used'),
  },
  'retry.requested': {
    forEvent: text('for_event'),
    forCallId: text('for_call'),
    attempt: text('attempt'),
    notBefore: text('not_before'),
    by: text('by'),
    behavior: text('behavior'),
  },
  'behavior.failed': {
    behavior: text('behavior'),
    reason: text('reason'),
    message: body('message', erasedText),
    attempt: text('attempt'),
    triggeringEventId: text('triggering_event_id'),
    triggeringCallId: text('triggering_call'),
    payloadExtras: body('payload_extras'),
  },
  'grant.given': {
    grantId: text('grant_id'),
    by: text('by'),
    identity: text('identity', { optional }),
    state: body('state', { erased: { value: {} } }),
  },
  'grant.revoked': {
    grantId: text('grant_id'),
    by: text('by'),
    identity: text('identity', { optional }),
    reason: body('reason'),
    state: body('state', { erased: { value: {} } }),
  },
  'delegation.given': {
    delegationId: text('delegation_id'),
    by: text('by'),
    identity: text('identity'),
    to: text('to'),
    until: text('until'),
    reason: body('reason'),
    state: body('state', { erased: { value: {} } }),
  },
  'delegation.revoked': {
    delegationId: text('delegation_id'),
    by: text('by'),
    identity: text('identity', { optional }),
    reason: body('reason'),
    state: body('state', { erased: { value: {} } }),
  },
  'workflow.advanced': {
    ...workflowFields,
    stageId: text('stage_id'),
    toStageId: text('to_stage_id'),
  },
  'workflow.updated': {
    ...workflowFields,
    why: text('why'),
    by: body('by'),
    identity: body('identity', { optional }),
  },
  'workflow.completed': { ...workflowFields, stageId: text('stage_id') },
  'contracts.loaded': {
    policyVersion: text('policy_version'),
    documents: text('documents', {
      items: { name: text('name'), stamp: text('stamp'), text: body('text', { optional }) },
    }),
    workingDirectory: text('working_directory', { optional }),
  },
  'body.erased': {
    entryIds: text('entry_ids'),
    by: text('by'),
    identity: text('identity', { optional }),
    reason: body('reason', erasedText),
  },
  'session.dropped': {
    droppedSessionId: text('dropped_session'),
    sequence: text('sequence'),
    hash: text('hash'),
    by: text('by'),
    identity: text('identity', { optional }),
    reason: body('reason', erasedText),
  },
};

/** The names of the envelope on disk. */
export const envelopeNames: readonly string[] = ['id', 'type', 'session', 'turn', 'call', 'at', 'cause'];

/** The fields of one event type, or undefined for a type this version does not know. */
export const eventFieldsOf = (type: string): FieldTable | undefined =>
  isEventType(type) ? (eventTable[type] as FieldTable) : undefined;

/** Narrows a string to an event type that this version knows. */
export const isEventType = (type: string): type is EventType => Object.hasOwn(eventTable, type);

/** Narrows a read event to those that this version knows. */
export const isKnownEvent = (event: ReadEvent): event is QuittanceEvent => isEventType(event.type);

export const emittedFields: { readonly [Name in 'by' | ('data' & keyof EmittedEvent)]: Field } = {
  by: text('by'),
  data: body('data', { erased: { value: {} } }),
};

/** True if events of this type have that shape. Any other event of unknown type is kept unchanged. */
export const isWrittenAsEmitted = (
  type: string,
  inText: JsonObject,
  inBody: JsonObject | null,
  erased: boolean,
): boolean =>
  Object.hasOwn(inText, 'by') &&
  typeof inText['by'] === 'string' &&
  (erased || (inBody !== null && Object.hasOwn(inBody, 'data') && isJsonObject(inBody['data']))) &&
  !isReservedEventType(type);

/** Encodes one event for the text and the bodies of an entry, according to the table. */

type Draft = { [name: string]: JsonValue };

/** The two parts of an object. An empty part is undefined. */
export type Parts = { readonly text: Draft | undefined; readonly body: Draft | undefined };

export function encodeFields(fields: FieldTable, source: { readonly [name: string]: unknown }): Parts {
  const parts: { text: Draft | undefined; body: Draft | undefined } = { text: undefined, body: undefined };
  for (const [name, field] of Object.entries(fields)) {
    // Events contain only JSON and undefined.
    const value = source[name] as JsonValue | undefined;
    if (value === undefined || isAbsent(value, field)) continue;
    if (field.fields !== undefined) {
      const inner = encodeFields(field.fields, value as JsonObject);
      (parts.text ??= {})[field.name] = inner.text ?? {};
      if (inner.body !== undefined) (parts.body ??= {})[field.name] = inner.body;
    } else if (field.items !== undefined) {
      const items = (value as readonly JsonObject[]).map((item) =>
        encodeFields(field.items as FieldTable, item),
      );
      (parts.text ??= {})[field.name] = items.map((item) => item.text ?? {});
      if (items.some((item) => item.body !== undefined))
        (parts.body ??= {})[field.name] = items.map((item) => item.body ?? {});
    } else (parts[field.where] ??= {})[field.name] = rename(value, field.inside);
  }
  return parts;
}

/** Renames the members of an object, or of each object of a list. */
export function rename(value: JsonValue, names: Names | undefined): JsonValue {
  if (names === undefined) return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => rename(item, names));
  if (!isJsonObject(value)) return value;
  // fromEntries and not assignment: a key may be __proto__.
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [Object.hasOwn(names, name) ? names[name] : name, inner]),
  );
}

const isAbsent = (value: JsonValue, { absent }: Field): boolean =>
  Array.isArray(absent) ? Array.isArray(value) && value.length === 0 : value === absent;

/** The entry of the event: values that the event shares with it are not repeated. */
export type Holder = { readonly sessionId: string; readonly callId: string | undefined };

/**
 * The previous event in the entry. Turn and time are written only if they differ from its. The cause is written only
 * if it is not that event; null means no cause.
 */
export type Previous = { readonly id: string; readonly turnId: string; readonly at: number };

/**
 * The text is written as JSON together with those of the other events, where members that are undefined are left out.
 * The body is JSON already: `null` for an event without a body.
 */
export type EncodedEvent = { readonly text: object; readonly body: string };

export function encodeEvent(event: ReadEvent, holder: Holder, previous?: Previous): EncodedEvent {
  const fields = isEmittedEvent(event) ? emittedFields : (eventFieldsOf(event.type) ?? noFields);
  const { text, body } = encodeFields(fields, event);
  if (event.type === 'tool.responded') shortenResponse(event as ToolResponded, text, body);
  if (event.type === 'tool.requested') shortenRequest(event as ToolRequested, text);
  const unknown = 'unknownFields' in event ? event.unknownFields : undefined;
  const whole: JsonObject = { ...toEnvelope(event, holder, previous), ...text };
  const wholeBody = unknown === undefined ? body : merge(body ?? {}, unknown.body);
  return {
    text: unknown === undefined ? whole : merge(whole, unknown.text),
    body: wholeBody === undefined || Object.keys(wholeBody).length === 0 ? 'null' : JSON.stringify(wholeBody),
  };
}

const noFields: FieldTable = {};

function toEnvelope(event: ReadEvent, holder: Holder, previous?: Previous): JsonObject {
  const { id, type, sessionId, turnId, at, cause } = event;
  const callId = 'callId' in event ? event.callId : undefined;
  return {
    id,
    type,
    ...(sessionId !== holder.sessionId && { session: sessionId }),
    ...(turnId !== previous?.turnId && { turn: turnId }),
    ...(callId !== holder.callId && { call: callId ?? null }),
    ...(at !== previous?.at && { at }),
    ...(cause !== previous?.id && { cause: cause ?? null }),
  };
}

/** Omits a display name that equals the name. */
function shortenRequest({ toolName, displayName }: ToolRequested, text: Draft | undefined): void {
  if (toolName === displayName) delete text?.['display_name'];
}

/** Omits derivable values: the id of the call, and a content that is the output. */
function shortenResponse(
  { outcome, callId, content }: ToolResponded,
  text: Draft | undefined,
  body: Draft | undefined,
): void {
  const written = text?.['outcome'] as { call_id?: string } | undefined;
  if (written !== undefined && outcome.callId === callId) delete written.call_id;
  if (outcome.type === 'ToolExecutionResult' && JSON.stringify(outcome.output) === content)
    delete body?.['content'];
}

/** Puts unknown fields back in their place. */
function merge(known: JsonObject, unknown: JsonObject): JsonObject {
  const merged = new Map(Object.entries(known));
  for (const [name, value] of Object.entries(unknown)) merged.set(name, mergeValue(merged.get(name), value));
  return Object.fromEntries(merged);
}

function mergeValue(known: JsonValue | undefined, unknown: JsonValue): JsonValue {
  if (Array.isArray(known) && Array.isArray(unknown))
    return (known as readonly JsonValue[]).map((item, index) =>
      mergeValue(item, (unknown as readonly JsonValue[])[index] ?? {}),
    );
  return isJsonObject(known) && isJsonObject(unknown) ? merge(known, unknown) : unknown;
}
