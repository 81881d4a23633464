import { describe, expect, test } from 'vitest';
import { readGrant, sameArguments } from '../../console/src/pages/inbox/read-grant.ts';
import { orderQuestions, riskLevel } from '../../console/src/pages/inbox/risk.ts';
import { describeVerdict } from '../../console/src/pages/inbox/verdict.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { parseArgumentConstraint } from '../../src/policy/judge/argument-constraint.ts';

const question = (confirmationId: string, createdAt: number, ...risk: string[]) => ({
  confirmationId,
  createdAt,
  risk,
});

describe('questions', () => {
  test('that could do lasting harm come first, and of those alike whoever waits longest', () => {
    const ordered = orderQuestions(
      [
        question('new-plain', 30),
        question('new-grave', 20, 'reaches outside', 'irreversible'),
        question('outside', 5, 'reaches outside'),
        question('old-grave', 10, 'destructive'),
        question('old-plain', 1),
      ],
      'risk',
    );
    expect(ordered.map(({ confirmationId }) => confirmationId)).toEqual([
      'old-grave',
      'new-grave',
      'outside',
      'old-plain',
      'new-plain',
    ]);
  });

  test('by age stand in the order they were asked, and two of one moment always in the same', () => {
    const rows = [question('b', 2), question('a', 2), question('c', 1, 'destructive')];
    const ids = ['c', 'a', 'b'];
    expect(orderQuestions(rows, 'age').map((row) => row.confirmationId)).toEqual(ids);
    expect(orderQuestions(rows.toReversed(), 'age').map((row) => row.confirmationId)).toEqual(ids);
  });

  test('with a word nobody here knows are a risk all the same', () => {
    expect(riskLevel(['a word of a newer server'])).toBe('medium');
    expect(riskLevel([])).toBe('low');
  });

  test('that hide an argument by repeating it under a secret name are a high risk', () => {
    expect(riskLevel(['hidden because the same value has a secret name elsewhere: $.recipient'])).toBe(
      'high',
    );
  });
});

describe('a verdict', () => {
  const decided = {
    status: 'approved',
    decision: 'approve',
    by: { type: 'person', name: 'ada' },
    reason: undefined,
  } as const;

  test('says who was first, unless it was this page', () => {
    expect(describeVerdict(decided, false)?.sentence).toBe(
      'Already decided by ada (identity not recorded): approved.',
    );
    expect(describeVerdict(decided, true)?.sentence).toBe('You approved this.');
    expect(
      describeVerdict({ ...decided, status: 'denied', decision: 'deny', reason: 'Not twice.' }, false)
        ?.sentence,
    ).toBe('Already decided by ada (identity not recorded): denied: Not twice.');
  });

  test('shows what people wrote as text that cannot lie about its direction', () => {
    const by = { type: 'person', name: 'ad\u202Ea' } as const;
    expect(describeVerdict({ ...decided, by }, false)?.sentence).toContain('ad\\u202ea');
  });

  test('is none while somebody is asked', () => {
    expect(describeVerdict({ ...decided, status: 'pending' }, false)).toBeUndefined();
  });
});

describe('a grant', () => {
  const typed = { sessionId: 's', toolName: ' refund ', where: '', forMs: 3_600_000, uses: '', reason: ' ' };

  test('is read from what was typed, and leaves out what was not', () => {
    expect(readGrant(typed)).toEqual({
      ok: true,
      grant: { sessionId: 's', toolName: 'refund', forMs: 3_600_000 },
    });
    expect(readGrant({ ...typed, forMs: undefined, uses: '3', where: '{"args.cents": {"lte": 5}}' })).toEqual(
      {
        ok: true,
        grant: { sessionId: 's', toolName: 'refund', uses: 3, where: { 'args.cents': { lte: 5 } } },
      },
    );
  });

  test.each([
    ['sessionId', { sessionId: ' ' }],
    ['toolName', { toolName: '' }],
    ['uses', { uses: '0' }],
    ['uses', { uses: '1e3' }],
    ['where', { where: '{' }],
    ['where', { where: '"x"' }],
    ['where', { where: '{"args.n": {"equals": 12345678901234567890}}' }],
  ] as const)('says what is wrong with its %s', (field, change) => {
    expect(readGrant({ ...typed, ...change })).toMatchObject({ ok: false, field });
  });

  test('begins with a condition for the very arguments, as rules can say it', () => {
    const input = { order: 'A-1', cents: 9, urgent: true, items: [1], 'odd name': 1, token: '[hidden]' };
    const where = sameArguments(input, ['$.token']);
    expect(JSON.parse(where)).toEqual({
      all: [
        { 'args.order': { equals: 'A-1' } },
        { 'args.cents': { equals: 9 } },
        { 'args.urgent': { equals: true } },
      ],
    });
    for (const text of [where, sameArguments({ order: 'A-1' })]) {
      // What JSON.parse gives is JSON.
      const reading = parseArgumentConstraint(JSON.parse(text) as JsonObject);
      expect(reading.ok && reading.constraint.holds(input)).toBe(true);
      expect(reading.ok && reading.constraint.holds({ ...input, order: 'B-2' })).toBe(false);
    }
    expect(sameArguments('text')).toBe('');
    expect(sameArguments({ items: [] })).toBe('');
  });
});
