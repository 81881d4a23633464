import { describe, expect, test } from 'vitest';
import { readGrant, sameArguments } from '../../packages/console/src/pages/inbox/read-grant.ts';
import { orderQuestions } from '../../packages/console/src/pages/inbox/risk.ts';
import { riskLevel } from '../../packages/quittance/src/view/risk-level.ts';
import { describeVerdict } from '../../packages/console/src/pages/inbox/verdict.ts';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import { parseArgumentConstraint } from '../../packages/quittance/src/policy/judge/argument-constraint.ts';

const question = (confirmationId: string, createdAt: number, ...risk: string[]) => ({
  confirmationId,
  createdAt,
  risk,
});

describe('questions', () => {
  test('questions with lasting effects come first, and equal ones by waiting time', () => {
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

  test('questions by age are in the order they were asked, with a stable order for equal times', () => {
    const rows = [question('b', 2), question('a', 2), question('c', 1, 'destructive')];
    const ids = ['c', 'a', 'b'];
    expect(orderQuestions(rows, 'age').map((row) => row.confirmationId)).toEqual(ids);
    expect(orderQuestions(rows.toReversed(), 'age').map((row) => row.confirmationId)).toEqual(ids);
  });

  test('questions with an unknown word count as a risk', () => {
    expect(riskLevel(['a word of a newer server'])).toBe('medium');
    expect(riskLevel([])).toBe('low');
  });

  test('questions that hide an argument by repeating it under a secret name are a high risk', () => {
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

  test('names the first person, unless it was this page', () => {
    expect(describeVerdict(decided, false)?.sentence).toBe(
      'Already decided by ada (identity not recorded): approved.',
    );
    expect(describeVerdict(decided, true)?.sentence).toBe('You approved this.');
    expect(
      describeVerdict({ ...decided, status: 'denied', decision: 'deny', reason: 'Not twice.' }, false)
        ?.sentence,
    ).toBe('Already decided by ada (identity not recorded): denied: Not twice.');
  });

  test('shows texts of people with isolated directions', () => {
    const by = { type: 'person', name: 'ad\u202Ea' } as const;
    expect(describeVerdict({ ...decided, by }, false)?.sentence).toContain('ad\\u202ea');
  });

  test('is absent while the question is open', () => {
    expect(describeVerdict({ ...decided, status: 'pending' }, false)).toBeUndefined();
  });
});

describe('a grant', () => {
  const typed = { sessionId: 's', toolName: ' refund ', where: '', forMs: 3_600_000, uses: '', reason: ' ' };

  test('is read from typed values, without empty ones', () => {
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
  ] as const)('explains the problem with its %s', (field, change) => {
    expect(readGrant({ ...typed, ...change })).toMatchObject({ ok: false, field });
  });

  test('starts with a condition for exactly these arguments, in the language of rules', () => {
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
      // JSON.parse returns JSON.
      const reading = parseArgumentConstraint(JSON.parse(text) as JsonObject);
      expect(reading.ok && reading.constraint.holds(input)).toBe(true);
      expect(reading.ok && reading.constraint.holds({ ...input, order: 'B-2' })).toBe(false);
    }
    expect(sameArguments('text')).toBe('');
    expect(sameArguments({ items: [] })).toBe('');
  });
});
