import fc from 'fast-check';
import { readJsonText, ownValue } from '../base/json.ts';
import { describe, expect, test } from 'vitest';
import { anyJson, anyOutcome } from '../../../../test/arbitrary-outcome.ts';
import { thrownBy } from '../../../../test/thrown-by.ts';
import { modelContentTable } from './model-content.ts';
import { outcomeFromWire, outcomeToWire } from './outcome-wire.ts';

const throughText = (value: unknown): unknown => readJsonText(JSON.stringify(value));

describe('an outcome on the wire', () => {
  test('is read back unchanged, also through JSON text', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        expect(outcomeFromWire(outcomeToWire(outcome))).toEqual(outcome);
        expect(outcomeFromWire(throughText(outcomeToWire(outcome)))).toEqual(outcome);
      }),
    );
  });

  test('payloads are read back byte for byte', () => {
    const payloads = (outcome: object): string =>
      JSON.stringify(['output', 'payloadExtras', 'toolResult'].map((key) => ownValue(outcome, key) ?? null));
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        expect(payloads(outcomeFromWire(throughText(outcomeToWire(outcome))))).toBe(payloads(outcome));
      }),
    );
  });

  test('has no camelCase key except inside payloads', () => {
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

  test('reads null as an absent field', () => {
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
  ])('refuses %o with a reason', (wire, message) => {
    expect(() => outcomeFromWire(wire)).toThrow(TypeError);
    expect(() => outcomeFromWire(wire)).toThrow(message);
  });

  test('accepts or refuses any value, and throws only a TypeError', () => {
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
