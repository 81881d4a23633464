import fc from 'fast-check';
import { readJsonText } from '../base/json.ts';
import { describe, expect, test } from 'vitest';
import { anyAuditRecord, anyJson, anyOutcome } from '../../test/arbitrary-outcome.ts';
import { thrownBy } from '../../test/thrown-by.ts';
import { ownValue } from '../tool/own-value.ts';
import type { ToolAuditRecord } from './audit.ts';
import { modelContentTable } from './model-content.ts';
import { auditRecordFromWire, auditRecordToWire, outcomeFromWire, outcomeToWire } from './wire.ts';

const throughText = (value: unknown): unknown => readJsonText(JSON.stringify(value));

describe('an outcome on the wire', () => {
  test('comes back as it was, also through JSON text', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        expect(outcomeFromWire(outcomeToWire(outcome))).toEqual(outcome);
        expect(outcomeFromWire(throughText(outcomeToWire(outcome)))).toEqual(outcome);
      }),
    );
  });

  test('payloads come back byte for byte', () => {
    const payloads = (outcome: object): string =>
      JSON.stringify(['output', 'payloadExtras', 'toolResult'].map((key) => ownValue(outcome, key) ?? null));
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        expect(payloads(outcomeFromWire(throughText(outcomeToWire(outcome))))).toBe(payloads(outcome));
      }),
    );
  });

  test('has no key in camelCase but those inside payloads', () => {
    const payloads = new Set(['output', 'payload_extras', 'tool_result']);
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        for (const [key, value] of Object.entries(outcomeToWire(outcome))) {
          expect(key).toMatch(/^[a-z_]+$/);
          if (payloads.has(key) || typeof value !== 'object' || value === null) continue;
          for (const inner of Object.values(value))
            for (const innerKey of Object.keys(Object(inner))) expect(innerKey).toMatch(/^[a-z_]+$/);
        }
      }),
    );
  });

  test('spells a timeout with its deadline in seconds', () => {
    expect(
      outcomeToWire({
        type: 'ToolTimeout',
        callId: 'c_42',
        toolName: 'refund',
        code: 'tool.timeout',
        deadlineMs: 1_778_846_400_123,
        elapsedMs: 30_000,
        retryable: false,
      }),
    ).toEqual({
      type: 'ToolTimeout',
      call_id: 'c_42',
      tool_name: 'refund',
      code: 'tool.timeout',
      deadline_s: 1_778_846_400.123,
      elapsed_ms: 30_000,
      retryable: false,
    });
  });

  test('any whole number of milliseconds survives the seconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (deadlineMs) => {
        const outcome = {
          type: 'ToolTimeout',
          callId: 'c',
          toolName: 't',
          code: 'tool.timeout',
          deadlineMs,
          elapsedMs: 0,
          retryable: true,
        } as const;
        expect(outcomeFromWire(outcomeToWire(outcome))).toEqual(outcome);
      }),
      { numRuns: 1_000 },
    );
  });

  test('spells files, results and extras as the source documents do', () => {
    expect(
      outcomeToWire({
        type: 'ToolArtifactReference',
        callId: 'c_42',
        toolName: 'draw',
        artifactId: 'art_1',
        summary: 'A picture.',
        sizeBytes: 9,
        elapsedMs: 1,
        wasCoerced: true,
        modelNote: 'Look at it.',
        files: [{ artifactId: 'art_2', mimeType: 'image/png', sizeBytes: 9, name: 'a.png' }],
        toolResult: { success: true, needsFollowup: true },
      }),
    ).toEqual({
      type: 'ToolArtifactReference',
      call_id: 'c_42',
      tool_name: 'draw',
      artifact_id: 'art_1',
      summary: 'A picture.',
      size_bytes: 9,
      elapsed_ms: 1,
      was_coerced: true,
      model_note: 'Look at it.',
      files: [{ artifact_id: 'art_2', mime_type: 'image/png', size_bytes: 9, name: 'a.png' }],
      tool_result: { success: true, needsFollowup: true },
    });
  });

  const failure = {
    type: 'ToolFailure',
    call_id: 'c',
    tool_name: 't',
    code: 'tool.network_error',
    error: 'no route',
    retryable: true,
    elapsed_ms: 1,
  };

  test('a field that is null where it may be absent is absent', () => {
    expect(outcomeFromWire({ ...failure, payload_extras: null, model_note: null })).toEqual(
      outcomeFromWire(failure),
    );
  });

  test.each([
    ['text', 'An outcome must be an object, found text of 4 characters.'],
    [{}, '"type" of an outcome must be text, found nothing.'],
    [
      { ...failure, type: 'ToolMishap' },
      '"type" of an outcome must be one of ToolExecutionResult, ToolTimeout',
    ],
    [{ ...failure, call_id: 7 }, '"call_id" of an outcome must be text, found number 7.'],
    [{ ...failure, callId: 'c', call_id: undefined }, '"call_id" of an outcome must be text, found nothing.'],
    [
      { ...failure, code: 'tool.sulked' },
      '"code" of an outcome must be one of tool.timeout, tool.network_error',
    ],
    [{ ...failure, code: 'toString' }, '"code" of an outcome must be one of'],
    [
      { ...failure, retryable: 'true' },
      '"retryable" of an outcome must be true or false, found text of 4 characters.',
    ],
    [{ ...failure, payload_extras: [] }, '"payload_extras" of an outcome must be an object, found an array.'],
    [{ ...failure, tool_result: {} }, '"success" of a tool result must be a boolean, found nothing.'],
    [
      { ...failure, type: 'ToolTimeout', deadline_s: 1 },
      '"code" of an outcome must be one of tool.timeout; found "tool.network_error".',
    ],
    [
      { ...failure, type: 'ToolDenied', reason: 'mood', details: '' },
      '"reason" of an outcome must be one of duplicate, blocked',
    ],
    [
      { ...failure, elapsed_ms: 10n },
      'An outcome must be JSON; at $.elapsed_ms: a BigInt has no JSON form: pass it as a string.',
    ],
  ])('refuses %o and says why', (wire, message) => {
    expect(() => outcomeFromWire(wire)).toThrow(TypeError);
    expect(() => outcomeFromWire(wire)).toThrow(message);
  });

  test('refuses or reads whatever it is given, and throws nothing but a TypeError', () => {
    fc.assert(
      fc.property(
        anyJson,
        fc.constantFrom(...modelContentTable.map(({ example }) => outcomeToWire(example))),
        fc.nat(),
        (junk, wire, at) => {
          const keys = Object.keys(wire);
          const refusals: unknown[] = [];
          for (const value of [junk, { ...wire, [keys[at % keys.length] ?? '']: junk }])
            refusals.push(thrownBy(() => outcomeFromWire(value)) ?? new TypeError('none'));
          expect(refusals.every((refusal) => refusal instanceof TypeError)).toBe(true);
        },
      ),
    );
  });
});

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
    requestedInput: { amount: 5 },
    effectiveInput: { amount: 5 },
    inputDigest: 'd_1',
    principal: { userId: 'ada', orgId: 'analytical', ticketRef: 'T-1', claims: { isAdmin: true } },
    provenance: { provider: 'acme', model: 'm-1' },
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
      requested_input: { amount: 5 },
      effective_input: { amount: 5 },
      input_digest: 'd_1',
      principal: { user_id: 'ada', org_id: 'analytical', ticket_ref: 'T-1', claims: { isAdmin: true } },
      provenance: { provider: 'acme', model: 'm-1' },
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

  test('comes back as it was, also through JSON text', () => {
    fc.assert(
      fc.property(anyAuditRecord, (any) => {
        expect(auditRecordFromWire(auditRecordToWire(any))).toEqual(any);
        expect(auditRecordFromWire(throughText(auditRecordToWire(any)))).toEqual(any);
      }),
    );
  });

  test('keeps a kind of a newer version, whole', () => {
    const wire = {
      ...auditRecordToWire(record),
      outcome: { kind: 'quarantined', listen_context: { operation_id: 'op' }, until: [1, null] },
    };
    expect(auditRecordFromWire(wire).outcome).toEqual(wire.outcome);
    expect(auditRecordToWire(auditRecordFromWire(wire))).toEqual(wire);
  });

  test('keeps fields of a newer version wherever they stand', () => {
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

  test('reads null where a field may be absent', () => {
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
  ])('refuses %j and says why', (wrong, message) => {
    expect(() => auditRecordFromWire({ ...auditRecordToWire(record), ...wrong })).toThrow(message);
  });
});
