/**
 * Converts audit records between TypeScript and their wire format.
 *
 * 1. A written record is read back unchanged.
 * 2. Records are an open set: kinds and fields of a newer version are kept and written again.
 */
import type { JsonObject } from '../base/json.ts';
import type { ToolModeOrigin } from '../tool/mode.ts';
import { isToolMode, toolModeTreatments } from '../tool/mode.ts';
import type { ToolRisk } from '../tool/name-words.ts';
import { toolRisks } from '../tool/name-words.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { ToolAuditOutcome as AuditOutcome, ToolAuditRecord, UnknownAuditOutcome } from './audit.ts';
import { isKnownAuditOutcome, ToolAuditOutcome } from './audit.ts';
import type { DecidedBy, Identity, Provenance } from './event.ts';
import { Fields, given } from './fields.ts';
import { toolResultToWire } from './outcome-wire.ts';

/** A record that was read. Its kind and some of its fields may be unknown to this version. */
export type ReadAuditRecord = Omit<ToolAuditRecord, 'outcome'> & {
  readonly outcome: AuditOutcome | UnknownAuditOutcome;
  /** In their wire spelling, to be written again unchanged. */
  readonly unknownFields?: JsonObject;
};

/** An audit record in its wire format. */
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
    ...given({ risk: record.risk }),
    requested_input: record.requestedInput,
    ...given({
      effective_input: record.effectiveInput,
      input_digest: record.inputDigest,
      principal: record.principal && principalToWire(record.principal),
      provenance: record.provenance && { ...record.provenance },
      asked_by: record.askedBy && { ...record.askedBy },
      policy_version: record.policyVersion,
      decided_by: record.decidedBy && { ...record.decidedBy },
      approvers: record.approvers?.map((by) => ({ ...by })),
      grant_id: record.grantId,
      tool_success: record.toolSuccess,
    }),
    outcome: auditOutcomeToWire(record.outcome),
    ...given({ cause: record.cause }),
    at: record.at,
  };
}

/** Reads an audit record. Refuses known fields of a wrong type, and keeps everything unknown. */
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
    ...given({ risk: fields.maybe('risk', (key) => fields.word(key, isToolRisk, toolRisks)) }),
    requestedInput: fields.json('requested_input'),
    effectiveInput: fields.get('effective_input'),
    inputDigest: fields.maybe('input_digest', text),
    principal: fields.maybe('principal', (key) => principalFromWire(fields.object(key))),
    provenance: fields.maybe('provenance', (key) => provenanceFromWire(fields.object(key))),
    // Its fields have the same spelling in both formats. A kind of a newer version is kept.
    askedBy: fields.maybe('asked_by', (key) => fields.object(key) as unknown as Identity),
    policyVersion: fields.maybe('policy_version', text),
    decidedBy: fields.maybe('decided_by', (key) => decidedByFromWire(fields.object(key))),
    ...given({
      approvers: fields.maybe('approvers', (key) =>
        fields.list(key).map((each) => decidedByFromWire(new Fields(each, 'An approver').all)),
      ),
    }),
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
  'risk',
  'requested_input',
  'effective_input',
  'input_digest',
  'principal',
  'provenance',
  'asked_by',
  'policy_version',
  'decided_by',
  'approvers',
  'grant_id',
  'tool_success',
  'outcome',
  'cause',
  'at',
];

const modeOrigins: readonly ToolModeOrigin[] = ['declared', 'inferred', 'default'];
const isModeOrigin = (value: unknown): value is ToolModeOrigin =>
  modeOrigins.some((origin) => origin === value);

const isToolRisk = (value: unknown): value is ToolRisk => toolRisks.some((risk) => risk === value);

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
      return { ...outcome, result: toolResultToWire(outcome.result) };
    case 'persistence_failed': {
      const { result, ...rest } = outcome;
      return { ...rest, ...given({ result: result && toolResultToWire(result) }) };
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
