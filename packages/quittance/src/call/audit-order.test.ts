import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { auditKinds } from './audit.ts';
import { auditOrder, auditTerminalKinds, checkAuditOrder } from './audit-order.ts';

const letters: Readonly<Record<string, string>> = {
  blocked: 'b',
  requires_confirmation: 'r',
  cached: 'k',
  replayed: 'y',
  invalidated: 'i',
  completed: 'c',
  persistence_failed: 'p',
};
const kinds = Object.keys(letters);

/** The rules as a regular expression: holds and failed writes, then one end, then only recalls. */
const legal = /^[rp]*(?:c[kyp]*|[bik][kp]*)?$/;
const settledLegal = /^[rp]*(?:c[kyp]*|[bik][kp]*)$/;
const spell = (sequence: readonly string[]): string =>
  sequence.map((kind) => (Object.hasOwn(letters, kind) ? letters[kind] : '')).join('');

function* sequencesUpTo(length: number): Generator<readonly string[]> {
  yield [];
  if (length === 0) return;
  for (const rest of sequencesUpTo(length - 1)) for (const kind of kinds) yield [...rest, kind];
}

describe('the order of audit records', () => {
  test('has a letter here for every kind', () => {
    expect(kinds.toSorted()).toEqual(Object.keys(auditKinds).toSorted());
  });

  test('accepts exactly what the rules accept, for every sequence of up to five records', () => {
    const disagreed: string[] = [];
    for (const sequence of sequencesUpTo(5)) {
      const text = spell(sequence);
      if (checkAuditOrder(sequence).ok !== legal.test(text)) disagreed.push(text);
      if (checkAuditOrder(sequence, { settled: true }).ok !== settledLegal.test(text))
        disagreed.push(`${text}.`);
    }
    expect(disagreed).toEqual([]);
  });

  test('accepts exactly what the rules accept, for long sequences that are nearly legal', () => {
    const some = (...of: string[]): fc.Arbitrary<string[]> =>
      fc.array(fc.constantFrom(...of), { maxLength: 12 });
    const nearly = fc
      .tuple(
        some('requires_confirmation', 'persistence_failed'),
        fc.constantFrom(...kinds),
        some('cached', 'persistence_failed', 'replayed'),
        fc.array(fc.constantFrom(...kinds), { maxLength: 1 }),
      )
      .map(([before, end, after, stray]) => [...before, end, ...after, ...stray]);
    fc.assert(
      fc.property(nearly, (sequence) => {
        expect(checkAuditOrder(sequence).ok).toBe(legal.test(spell(sequence)));
      }),
      { numRuns: 2_000 },
    );
  });

  test('skips kinds of a newer version', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...kinds, 'quarantined', 'toString', '__proto__')), (sequence) => {
        expect(checkAuditOrder(sequence).ok).toBe(legal.test(spell(sequence)));
      }),
    );
    expect(checkAuditOrder(['quarantined', 'completed', 'quarantined', 'completed'])).toMatchObject({
      ok: false,
      index: 3,
    });
  });

  test.each([
    ['blocked'],
    ['requires_confirmation', 'completed'],
    ['requires_confirmation', 'requires_confirmation', 'blocked'],
    ['requires_confirmation', 'invalidated', 'cached', 'cached'],
    ['requires_confirmation', 'cached'],
    ['completed', 'cached', 'replayed', 'cached'],
    ['cached', 'cached'],
    ['persistence_failed', 'completed'],
    ['persistence_failed', 'requires_confirmation', 'persistence_failed', 'completed'],
    ['completed', 'persistence_failed', 'cached'],
  ])('allows a call to go this way (%#)', (...sequence) => {
    expect(checkAuditOrder(sequence, { settled: true })).toEqual({ ok: true });
  });

  test('names the first illegal record, and the legal ones', () => {
    expect(checkAuditOrder(['requires_confirmation', 'completed', 'cached', 'blocked'])).toEqual({
      ok: false,
      index: 3,
      message:
        'A second end: "blocked" may not follow, the call was settled already (after completed). Allowed here: cached, replayed, persistence_failed.',
    });
    expect(checkAuditOrder(['replayed'])).toEqual({
      ok: false,
      index: 0,
      message:
        '"replayed" may not stand at the start of a call. Allowed here: blocked, requires_confirmation, invalidated, completed, cached, persistence_failed.',
    });
  });

  test('finds a settled call without an end', () => {
    expect(checkAuditOrder(['requires_confirmation'], { settled: true })).toEqual({
      ok: false,
      index: 1,
      message:
        'The call has its outcome, but no record says so: one of completed, blocked, invalidated or cached is missing.',
    });
  });

  test('the terminal kinds are those that settle a call in every open state', () => {
    const settling = (state: 'start' | 'held'): string[] =>
      Object.entries(auditOrder[state].next).flatMap(([kind, next]) =>
        auditOrder[next].settled ? [kind] : [],
      );
    for (const state of ['start', 'held'] as const)
      expect(settling(state).toSorted()).toEqual([...auditTerminalKinds, 'cached'].toSorted());
  });

  test('the table is immutable', () => {
    expect(Object.isFrozen(auditOrder.start.next) && Object.isFrozen(auditTerminalKinds)).toBe(true);
  });
});
