import { describe, expect, test } from 'vitest';
import { orderQuestions, riskLevel } from '../../console/src/pages/inbox/risk.ts';
import { describeVerdict } from '../../console/src/pages/inbox/verdict.ts';

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
});

describe('a verdict', () => {
  const decided = {
    status: 'approved',
    decision: 'approve',
    by: { type: 'person', name: 'ada' },
    reason: undefined,
  } as const;

  test('says who was first, unless it was this page', () => {
    expect(describeVerdict(decided, false)?.sentence).toBe('Already decided by ada: approved.');
    expect(describeVerdict(decided, true)?.sentence).toBe('You approved this.');
    expect(
      describeVerdict({ ...decided, status: 'denied', decision: 'deny', reason: 'Not twice.' }, false)
        ?.sentence,
    ).toBe('Already decided by ada: denied: Not twice.');
  });

  test('shows what people wrote as text that cannot lie about its direction', () => {
    const by = { type: 'person', name: 'ad\u202Ea' } as const;
    expect(describeVerdict({ ...decided, by }, false)?.sentence).toContain('ad\\u202ea');
  });

  test('is none while somebody is asked', () => {
    expect(describeVerdict({ ...decided, status: 'pending' }, false)).toBeUndefined();
  });
});
