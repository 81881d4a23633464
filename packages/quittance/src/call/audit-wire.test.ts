import fc from 'fast-check';
import { readJsonText } from '../base/json.ts';
import { describe, expect, test } from 'vitest';
import { anyAuditRecord } from '../../../../test/arbitrary-outcome.ts';
import type { ToolAuditRecord } from './audit.ts';
import { auditRecordFromWire, auditRecordToWire } from './audit-wire.ts';

const throughText = (value: unknown): unknown => readJsonText(JSON.stringify(value));

describe('an audit record on the wire', () => {
  const record: ToolAuditRecord = {
    recordId: 'r_1',
    sessionId: 's_1',
    turnId: 't_1',
    callId: 'c_1',
    attempt: 0,
    toolName: 'refund',
    displayName: 'Refund',
    mode: 'destructive',
    modeOrigin: 'declared',
    risk: 'money',
    requestedInput: { amount: 5 },
    effectiveInput: { amount: 5 },
    inputDigest: 'd_1',
    principal: { userId: 'ada', orgId: 'analytical', ticketRef: 'T-1', claims: { isAdmin: true } },
    provenance: { provider: 'acme', model: 'm-1' },
    askedBy: { kind: 'token', id: 't1', name: 'agent', via: 'bearer' },
    policyVersion: 'v1',
    decidedBy: { type: 'rule', name: 'large-refunds' },
    grantId: 'grt_1',
    toolSuccess: undefined,
    outcome: {
      kind: 'requires_confirmation',
      description: 'A large refund.',
      listenContext: { operationId: 'op_1', revision: 2, snapshot: { balance: 7 }, expiresAt: 99 },
    },
    cause: 'e_1',
    at: 42,
  };

  test('is spelled as the source documents spell it', () => {
    expect(auditRecordToWire(record)).toEqual({
      record_id: 'r_1',
      session_id: 's_1',
      turn_id: 't_1',
      call_id: 'c_1',
      attempt: 0,
      tool_name: 'refund',
      display_name: 'Refund',
      mode: 'destructive',
      mode_origin: 'declared',
      risk: 'money',
      requested_input: { amount: 5 },
      effective_input: { amount: 5 },
      input_digest: 'd_1',
      principal: { user_id: 'ada', org_id: 'analytical', ticket_ref: 'T-1', claims: { isAdmin: true } },
      provenance: { provider: 'acme', model: 'm-1' },
      asked_by: { kind: 'token', id: 't1', name: 'agent', via: 'bearer' },
      policy_version: 'v1',
      decided_by: { type: 'rule', name: 'large-refunds' },
      grant_id: 'grt_1',
      outcome: {
        kind: 'requires_confirmation',
        description: 'A large refund.',
        listen_context: { operation_id: 'op_1', revision: 2, snapshot: { balance: 7 }, expires_at: 99 },
      },
      cause: 'e_1',
      at: 42,
    });
  });

  test('is read back unchanged, also through JSON text', () => {
    fc.assert(
      fc.property(anyAuditRecord, (any) => {
        expect(auditRecordFromWire(auditRecordToWire(any))).toEqual(any);
        expect(auditRecordFromWire(throughText(auditRecordToWire(any)))).toEqual(any);
      }),
    );
  });

  test('keeps a kind of a newer version completely', () => {
    const wire = {
      ...auditRecordToWire(record),
      outcome: { kind: 'quarantined', listen_context: { operation_id: 'op' }, until: [1, null] },
    };
    expect(auditRecordFromWire(wire).outcome).toEqual(wire.outcome);
    expect(auditRecordToWire(auditRecordFromWire(wire))).toEqual(wire);
  });

  test('keeps fields of a newer version at every level', () => {
    const wire = auditRecordToWire(record);
    const newer = {
      ...wire,
      region: 'eu',
      principal: { user_id: 'ada', device_id: 'd' },
      provenance: { provider: 'acme', run_id: 'x' },
      decided_by: { type: 'person', name: 'Ada', reason: 'fine' },
      outcome: {
        kind: 'requires_confirmation',
        description: 'x',
        priority: 1,
        listen_context: { operation_id: 'op', revision: 1, snapshot: null, locale: 'de' },
      },
    };
    expect(auditRecordToWire(auditRecordFromWire(newer))).toEqual(newer);
    expect(auditRecordFromWire(newer).unknownFields).toEqual({ region: 'eu' });
    const blocked = { ...wire, outcome: { kind: 'blocked', reason: 'no', rule_id: 7 } };
    expect(auditRecordToWire(auditRecordFromWire(blocked))).toEqual(blocked);
  });

  test('reads null as an absent field', () => {
    const {
      cause: _cause,
      tool_success: _success,
      ...wire
    } = auditRecordToWire({ ...record, cause: undefined });
    const outcome = { kind: 'persistence_failed', error: 'disk full', boundary: 'intent' };
    expect(
      auditRecordFromWire({
        ...wire,
        cause: null,
        tool_success: null,
        outcome: { ...outcome, result: null },
      }),
    ).toEqual({ ...record, cause: undefined, outcome });
  });

  test.each([
    [{ record_id: undefined }, '"record_id" of an audit record must be text, found nothing.'],
    [
      { mode: 'write' },
      '"mode" of an audit record must be one of read, safe_write, destructive, local, external; found "write".',
    ],
    [{ risk: 'danger' }, '"risk" of an audit record must be one of money, credentials'],
    [{ mode_origin: 'guess' }, '"mode_origin" of an audit record must be one of declared, inferred, default'],
    [
      { decided_by: { type: 'fate', name: 'x' } },
      '"type" of a decider must be one of gate, hook, rule, person',
    ],
    [{ principal: { user_id: 7 } }, '"user_id" of a principal must be text, found number 7.'],
    [{ outcome: { kind: 'blocked' } }, '"reason" of an audit outcome must be text, found nothing.'],
    [
      { outcome: { kind: 'completed', result: { success: 1 } } },
      '"success" of a tool result must be a boolean, found number 1.',
    ],
    [
      { outcome: { kind: 'persistence_failed', error: 'x', boundary: 'moon' } },
      '"boundary" of an audit outcome must be one of request, intent',
    ],
    [
      { outcome: { kind: 'requires_confirmation', description: 'x', listen_context: {} } },
      '"operationId" of a listen context must be text, found nothing.',
    ],
  ])('refuses %j with a reason', (wrong, message) => {
    expect(() => auditRecordFromWire({ ...auditRecordToWire(record), ...wrong })).toThrow(message);
  });
});
