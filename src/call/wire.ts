/**
 * The one place where TypeScript's spelling meets that of files and wires: `callId` here, `call_id` there,
 * milliseconds here, `deadline_s` there. ToolResults are spelled the same on both sides and pass as they are.
 *
 * 1. What is written can be read back as it was.
 * 2. Outcomes are a closed set: an unknown type, code or reason is refused by name. Audit records are not:
 *    kinds and fields of a newer version are kept and written again.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { ToolAuditOutcome as AuditOutcome, ToolAuditRecord, UnknownAuditOutcome } from './audit.ts';
import type { DecidedBy, Provenance } from './event.ts';
import type { OutputFile, ToolOutcome, UndoHandle } from './outcome.ts';
import type { ToolResult } from './tool-result.ts';
import { isToolMode, toolModeTreatments } from '../tool/mode.ts';
import { isKnownAuditOutcome, ToolAuditOutcome } from './audit.ts';
import { Fields, given } from './fields.ts';
import { denialReasons, isDenialReason, isOutcomeType, outcomeTypes } from './outcome.ts';
import { isReasonCode, reasonCodes } from './reason.ts';
import { parseToolResult } from './tool-result.ts';

/** An outcome in the spelling of files and wires. */
export function outcomeToWire(outcome: ToolOutcome): JsonObject {
  const head = { type: outcome.type, call_id: outcome.callId, tool_name: outcome.toolName };
  const note = given({ model_note: outcome.modelNote });
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return {
        ...head,
        output: outcome.output,
        elapsed_ms: outcome.elapsedMs,
        was_coerced: outcome.wasCoerced,
        ...given({
          files: outcome.files?.map(fileToWire),
          tool_result: outcome.toolResult && resultToWire(outcome.toolResult),
          undo: outcome.undo && { ...outcome.undo },
        }),
        ...note,
      };
    case 'ToolTimeout':
      return {
        ...head,
        code: outcome.code,
        deadline_s: outcome.deadlineMs / 1_000,
        elapsed_ms: outcome.elapsedMs,
        retryable: outcome.retryable,
        ...note,
      };
    case 'ToolFailure':
      return {
        ...head,
        code: outcome.code,
        error: outcome.error,
        retryable: outcome.retryable,
        elapsed_ms: outcome.elapsedMs,
        ...given({
          payload_extras: outcome.payloadExtras,
          tool_result: outcome.toolResult && resultToWire(outcome.toolResult),
        }),
        ...note,
      };
    case 'ToolDenied':
      return { ...head, code: outcome.code, reason: outcome.reason, details: outcome.details, ...note };
    case 'ToolArtifactReference':
      return {
        ...head,
        artifact_id: outcome.artifactId,
        summary: outcome.summary,
        size_bytes: outcome.sizeBytes,
        elapsed_ms: outcome.elapsedMs,
        was_coerced: outcome.wasCoerced,
        ...given({
          digest: outcome.digest,
          files: outcome.files?.map(fileToWire),
          tool_result: outcome.toolResult && resultToWire(outcome.toolResult),
          undo: outcome.undo && { ...outcome.undo },
        }),
        ...note,
      };
  }
}

/** Reads an outcome back; refuses with a TypeError that names the field. Fields it does not know are left out. */
export function outcomeFromWire(value: unknown): ToolOutcome {
  const fields = new Fields(value, 'An outcome');
  const type = fields.word('type', isOutcomeType, Object.keys(outcomeTypes).filter(isOutcomeType));
  const head = {
    callId: fields.text('call_id'),
    toolName: fields.text('tool_name'),
    ...given({ modelNote: fields.maybe('model_note', (key) => fields.text(key)) }),
  };
  switch (type) {
    case 'ToolExecutionResult':
      return { type, ...head, output: fields.json('output'), ...readRun(fields) };
    case 'ToolTimeout':
      return {
        type,
        ...head,
        code: fields.word('code', isTimeoutCode, ['tool.timeout']),
        deadlineMs: toMilliseconds(fields.number('deadline_s')),
        elapsedMs: fields.number('elapsed_ms'),
        retryable: fields.flag('retryable'),
      };
    case 'ToolFailure':
      return {
        type,
        ...head,
        code: fields.word('code', isReasonCode, reasonCodes),
        error: fields.text('error'),
        retryable: fields.flag('retryable'),
        elapsedMs: fields.number('elapsed_ms'),
        ...given({ payloadExtras: fields.maybe('payload_extras', (key) => fields.object(key)) }),
        ...readToolResult(fields),
      };
    case 'ToolDenied':
      return {
        type,
        ...head,
        code: fields.word('code', isReasonCode, reasonCodes),
        reason: fields.word('reason', isDenialReason, Object.keys(denialReasons).filter(isDenialReason)),
        details: fields.text('details'),
      };
    case 'ToolArtifactReference':
      return {
        type,
        ...head,
        artifactId: fields.text('artifact_id'),
        summary: fields.text('summary'),
        sizeBytes: fields.number('size_bytes'),
        ...given({ digest: fields.maybe('digest', (key) => fields.text(key)) }),
        ...readRun(fields),
      };
  }
}

const isTimeoutCode = (value: unknown): value is 'tool.timeout' => value === 'tool.timeout';

/** Whole milliseconds come back whole: dividing and multiplying by a thousand may leave a trace of rounding. */
function toMilliseconds(seconds: number): number {
  const milliseconds = seconds * 1_000;
  const whole = Math.round(milliseconds);
  return whole / 1_000 === seconds ? whole : milliseconds;
}

function readRun(fields: Fields): {
  readonly elapsedMs: number;
  readonly wasCoerced: boolean;
  readonly files?: readonly OutputFile[];
  readonly toolResult?: ToolResult;
  readonly undo?: UndoHandle;
} {
  return {
    elapsedMs: fields.number('elapsed_ms'),
    wasCoerced: fields.flag('was_coerced'),
    ...given({ files: fields.maybe('files', (key) => fields.list(key).map(fileFromWire)) }),
    ...readToolResult(fields),
    ...given({ undo: fields.maybe('undo', (key) => undoFromWire(fields.object(key))) }),
  };
}

function undoFromWire(value: JsonObject): UndoHandle {
  const fields = new Fields(value, 'The undo of an outcome');
  return given({ until: fields.maybe('until', (key) => fields.number(key)) });
}

const readToolResult = (fields: Fields): { readonly toolResult?: ToolResult } =>
  given({ toolResult: fields.maybe('tool_result', (key) => parseToolResult(fields.object(key))) });

const fileToWire = ({ artifactId, mimeType, sizeBytes, digest, name }: OutputFile): JsonObject => ({
  artifact_id: artifactId,
  mime_type: mimeType,
  size_bytes: sizeBytes,
  ...given({ digest, name }),
});

function fileFromWire(value: JsonValue): OutputFile {
  const fields = new Fields(value, 'A file of an outcome');
  return {
    artifactId: fields.text('artifact_id'),
    mimeType: fields.text('mime_type'),
    sizeBytes: fields.number('size_bytes'),
    ...given({
      digest: fields.maybe('digest', (key) => fields.text(key)),
      name: fields.maybe('name', (key) => fields.text(key)),
    }),
  };
}

/** Written as JSON, a field that is undefined is one that is absent. */
const resultToWire = (result: ToolResult): JsonObject =>
  Object.fromEntries(
    Object.entries(result).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );

/** A record as it was read: its kind may be one this version does not know, and so may some of its fields. */
export type ReadAuditRecord = Omit<ToolAuditRecord, 'outcome'> & {
  readonly outcome: AuditOutcome | UnknownAuditOutcome;
  /** In the spelling they came in, to be written again as they are. */
  readonly unknownFields?: JsonObject;
};

/** An audit record in the spelling of files and wires. */
export function auditRecordToWire(record: ToolAuditRecord | ReadAuditRecord): JsonObject {
  return {
    ...('unknownFields' in record && record.unknownFields),
    record_id: record.recordId,
    session_id: record.sessionId,
    turn_id: record.turnId,
    call_id: record.callId,
    attempt: record.attempt,
    tool_name: record.toolName,
    display_name: record.displayName,
    mode: record.mode,
    mode_origin: record.modeOrigin,
    requested_input: record.requestedInput,
    ...given({
      effective_input: record.effectiveInput,
      input_digest: record.inputDigest,
      principal: record.principal && principalToWire(record.principal),
      provenance: record.provenance && { ...record.provenance },
      policy_version: record.policyVersion,
      decided_by: record.decidedBy && { ...record.decidedBy },
      grant_id: record.grantId,
      tool_success: record.toolSuccess,
    }),
    outcome: auditOutcomeToWire(record.outcome),
    ...given({ cause: record.cause }),
    at: record.at,
  };
}

/** Reads an audit record back; refuses known fields of a wrong type, keeps everything it does not know. */
export function auditRecordFromWire(value: unknown): ReadAuditRecord {
  const fields = new Fields(value, 'An audit record');
  const text = (key: string): string => fields.text(key);
  const unknown = fields.without(...recordKeys);
  return {
    recordId: fields.text('record_id'),
    sessionId: fields.text('session_id'),
    turnId: fields.text('turn_id'),
    callId: fields.text('call_id'),
    attempt: fields.number('attempt'),
    toolName: fields.text('tool_name'),
    displayName: fields.text('display_name'),
    mode: fields.word('mode', isToolMode, Object.keys(toolModeTreatments).filter(isToolMode)),
    modeOrigin: fields.word('mode_origin', isModeOrigin, modeOrigins),
    requestedInput: fields.json('requested_input'),
    effectiveInput: fields.get('effective_input'),
    inputDigest: fields.maybe('input_digest', text),
    principal: fields.maybe('principal', (key) => principalFromWire(fields.object(key))),
    provenance: fields.maybe('provenance', (key) => provenanceFromWire(fields.object(key))),
    policyVersion: fields.maybe('policy_version', text),
    decidedBy: fields.maybe('decided_by', (key) => decidedByFromWire(fields.object(key))),
    grantId: fields.maybe('grant_id', text),
    toolSuccess: fields.maybe('tool_success', (key) => fields.flag(key)),
    outcome: auditOutcomeFromWire(fields.object('outcome')),
    cause: fields.maybe('cause', text),
    at: fields.number('at'),
    ...(Object.keys(unknown).length > 0 && { unknownFields: unknown }),
  };
}

const recordKeys: readonly string[] = [
  'record_id',
  'session_id',
  'turn_id',
  'call_id',
  'attempt',
  'tool_name',
  'display_name',
  'mode',
  'mode_origin',
  'requested_input',
  'effective_input',
  'input_digest',
  'principal',
  'provenance',
  'policy_version',
  'decided_by',
  'grant_id',
  'tool_success',
  'outcome',
  'cause',
  'at',
];

const modeOrigins: readonly ToolModeOrigin[] = ['declared', 'inferred', 'default'];
const isModeOrigin = (value: unknown): value is ToolModeOrigin =>
  modeOrigins.some((origin) => origin === value);

const deciders: readonly DecidedBy['type'][] = ['gate', 'hook', 'rule', 'person'];
const isDecider = (value: unknown): value is DecidedBy['type'] =>
  deciders.some((decider) => decider === value);

function principalToWire({
  userId,
  serviceId,
  orgId,
  role,
  ticketRef,
  claims,
  ...rest
}: Principal): JsonObject {
  return {
    ...rest,
    ...given({ user_id: userId, service_id: serviceId, org_id: orgId, role, ticket_ref: ticketRef, claims }),
  };
}

function principalFromWire(value: JsonObject): Principal {
  const fields = new Fields(value, 'A principal');
  const text = (key: string): string => fields.text(key);
  return {
    ...fields.without('user_id', 'service_id', 'org_id', 'role', 'ticket_ref', 'claims'),
    ...given({
      userId: fields.maybe('user_id', text),
      serviceId: fields.maybe('service_id', text),
      orgId: fields.maybe('org_id', text),
      role: fields.maybe('role', text),
      ticketRef: fields.maybe('ticket_ref', text),
      claims: fields.maybe('claims', (key) => fields.object(key)),
    }),
  };
}

function provenanceFromWire(value: JsonObject): Provenance {
  const fields = new Fields(value, 'A provenance');
  const text = (key: string): string => fields.text(key);
  return {
    ...fields.without('provider', 'model'),
    ...given({ provider: fields.maybe('provider', text), model: fields.maybe('model', text) }),
  };
}

function decidedByFromWire(value: JsonObject): DecidedBy {
  const fields = new Fields(value, 'A decider');
  return { ...fields.all, type: fields.word('type', isDecider, deciders), name: fields.text('name') };
}

function auditOutcomeToWire(outcome: AuditOutcome | UnknownAuditOutcome): JsonObject {
  if (!isKnownAuditOutcome(outcome)) return outcome;
  switch (outcome.kind) {
    case 'requires_confirmation': {
      const { listenContext, ...rest } = outcome;
      if (listenContext === undefined) return rest;
      const { operationId, expiresAt, ...context } = listenContext;
      return {
        ...rest,
        listen_context: { ...context, operation_id: operationId, ...given({ expires_at: expiresAt }) },
      };
    }
    case 'cached':
    case 'replayed':
    case 'completed':
      return { ...outcome, result: resultToWire(outcome.result) };
    case 'persistence_failed': {
      const { result, ...rest } = outcome;
      return { ...rest, ...given({ result: result && resultToWire(result) }) };
    }
    case 'blocked':
    case 'invalidated':
      return outcome;
  }
}

function auditOutcomeFromWire(wire: JsonObject): AuditOutcome | UnknownAuditOutcome {
  const { listen_context: context, ...rest } = wire;
  if (wire['kind'] !== 'requires_confirmation' || context === undefined) return ToolAuditOutcome.parse(wire);
  const fields = new Fields(context, 'A listen context');
  const { operation_id: operationId, expires_at: expiresAt, ...others } = fields.all;
  return ToolAuditOutcome.parse({ ...rest, listenContext: { ...others, operationId, expiresAt } });
}
