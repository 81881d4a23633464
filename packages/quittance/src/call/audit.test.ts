import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readJsonText } from '../base/json.ts';
import { anyAuditOutcome, anyJsonObject } from '../../../../test/arbitrary-outcome.ts';
import type { ToolAuditOutcome as AuditOutcome } from './audit.ts';
import { auditKinds, isKnownAuditOutcome, ToolAuditOutcome } from './audit.ts';

const result = { success: true, message: 'Done.' };
const seven: readonly AuditOutcome[] = [
  { kind: 'blocked', reason: 'No.' },
  { kind: 'requires_confirmation', description: 'May I?' },
  { kind: 'cached', result },
  { kind: 'replayed', result },
  { kind: 'invalidated', reason: 'Too late.' },
  { kind: 'completed', result },
  { kind: 'persistence_failed', result, error: 'disk full', boundary: 'settle' },
];

describe('an audit outcome', () => {
  test('is one of seven kinds', () => {
    expect(seven.map(({ kind }) => kind)).toEqual(Object.keys(auditKinds));
  });

  test.each(seven)('$kind has its word and, if it has one, its result', (outcome) => {
    expect(ToolAuditOutcome.kind(outcome)).toBe(outcome.kind);
    const carries = !['blocked', 'requires_confirmation', 'invalidated'].includes(outcome.kind);
    expect(ToolAuditOutcome.result(outcome)).toEqual(carries ? result : undefined);
  });

  test('an audit outcome of a write that failed before there was a result has no result', () => {
    expect(
      ToolAuditOutcome.result({ kind: 'persistence_failed', error: 'disk full', boundary: 'intent' }),
    ).toBeUndefined();
  });

  test('is read back as it was written', () => {
    fc.assert(
      fc.property(anyAuditOutcome, (outcome) => {
        expect(ToolAuditOutcome.parse(outcome)).toEqual(outcome);
        expect(ToolAuditOutcome.parse(readJsonText(JSON.stringify(outcome)))).toEqual(outcome);
      }),
    );
  });

  test('an audit outcome of an unknown kind is kept completely', () => {
    fc.assert(
      fc.property(anyJsonObject, (fields) => {
        const newer = { ...fields, kind: 'quarantined' };
        const read = ToolAuditOutcome.parse(newer);
        expect(JSON.stringify(read)).toBe(JSON.stringify(newer));
        expect(isKnownAuditOutcome(read)).toBe(false);
        expect(ToolAuditOutcome.kind(read)).toBe('quarantined');
        expect(ToolAuditOutcome.result(read)).toBeUndefined();
      }),
    );
    expect(ToolAuditOutcome.result({ kind: 'quarantined', result })).toBeUndefined();
  });

  test('keeps unknown fields', () => {
    const newer = { kind: 'blocked', reason: 'No.', rule: { id: 7 } };
    expect(ToolAuditOutcome.parse(newer)).toEqual(newer);
  });

  test('is a copy', () => {
    const given = { kind: 'quarantined', list: [1] };
    const read = ToolAuditOutcome.parse(given);
    given.list.push(2);
    expect(read).toEqual({ kind: 'quarantined', list: [1] });
  });

  test.each([
    [null, 'An audit outcome must be an object, found null.'],
    [{}, '"kind" of an audit outcome must be text, found nothing.'],
    [{ kind: 7 }, '"kind" of an audit outcome must be text, found number 7.'],
    [
      Object.create({ kind: 'blocked', reason: 'x' }),
      '"kind" of an audit outcome must be text, found nothing.',
    ],
    [{ kind: 'invalidated', reason: null }, '"reason" of an audit outcome must be text, found null.'],
    [{ kind: 'requires_confirmation' }, '"description" of an audit outcome must be text, found nothing.'],
    [{ kind: 'cached' }, '"result" of an audit outcome must be there, found nothing.'],
    [{ kind: 'completed', result: { success: 'yes' } }, '"success" of a tool result must be a boolean'],
    [
      { kind: 'persistence_failed', error: 'x' },
      '"boundary" of an audit outcome must be text, found nothing.',
    ],
    [
      { kind: 'requires_confirmation', description: 'x', listenContext: { operationId: 'o', revision: '1' } },
      '"revision" of a listen context must be a number, found text of 1 characters.',
    ],
  ])('%j is refused with the name of the wrong field', (value, message) => {
    expect(() => ToolAuditOutcome.parse(value)).toThrow(message);
  });
});
