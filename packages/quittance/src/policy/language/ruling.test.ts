import { expect, test } from 'vitest';
import { approvedRules, recheckApproval } from '../judge/recheck-approval.ts';
import { combineRulings, mergeAsks, timeoutDecision, type FiredRule } from './ruling.ts';

const rule = (ruleId: string, action: FiredRule['action'], changes: Partial<FiredRule> = {}): FiredRule => ({
  ruleId,
  ruleType: 'pre',
  action,
  message: ruleId,
  tags: [],
  metadata: undefined,
  policyError: false,
  observed: false,
  ...changes,
});
const ask = (ruleId: string, timeoutSeconds: number, timeoutEffect: 'block' | 'allow'): FiredRule =>
  rule(ruleId, 'ask', { timeoutSeconds, timeoutEffect });
const decide = (...fired: readonly FiredRule[]): ReturnType<typeof combineRulings> =>
  combineRulings(fired, [], 'v');

test('several asks become one: the earliest timeout, and block beats allow', () => {
  const fired = [ask('a', 60, 'allow'), rule('w', 'warn'), ask('b', 10, 'allow'), ask('c', 300, 'block')];
  expect(mergeAsks(fired)).toEqual({ timeoutSeconds: 10, timeoutEffect: 'block' });
  expect(timeoutDecision(fired)).toMatchObject({ decision: 'block', decidedBy: { ruleId: 'c' } });
});

test('when all allow, the timeout decision names the first rule', () => {
  const fired = [ask('a', 60, 'allow'), ask('b', 10, 'allow')];
  expect(timeoutDecision(fired)).toMatchObject({ decision: 'allow', decidedBy: { ruleId: 'a' } });
});

test('an ask without a timeout waits five minutes and then blocks', () => {
  expect(mergeAsks([rule('a', 'ask')])).toEqual({ timeoutSeconds: 300, timeoutEffect: 'block' });
});

test('without an ask there is nothing to wait for, and a timeout blocks', () => {
  expect(mergeAsks([rule('a', 'block')])).toBeUndefined();
  expect(timeoutDecision([])).toEqual({ decision: 'block', decidedBy: undefined });
});

const digests =
  (known: Readonly<Record<string, string>>) =>
  (ruleId: string): string | undefined =>
    known[ruleId];
const before = digests({ a: '1', b: '2' });
const approved = approvedRules([ask('a', 1, 'block'), rule('n', 'warn'), ask('b', 1, 'block')], before);

test.each([
  ['rules that allow now', decide(), before, 'run'],
  ['the same question', decide(ask('a', 1, 'block'), ask('b', 1, 'block')), before, 'run'],
  ['one of the questions', decide(ask('b', 1, 'block')), before, 'run'],
  [
    'a rule of the same id that says something else',
    decide(ask('a', 1, 'block')),
    digests({ a: '9' }),
    'ask',
  ],
  ['another rule', decide(ask('a', 1, 'block'), ask('c', 1, 'block')), digests({ a: '1', c: '3' }), 'ask'],
  ['a rule that is not known', decide(ask('c', 1, 'block')), digests({}), 'ask'],
  ['a block', decide(ask('a', 1, 'block'), rule('x', 'block')), before, 'deny'],
])('an approval under %s', (_title, ruling, digestOf, expected) => {
  expect(recheckApproval(approved, ruling, digestOf)).toBe(expected);
});

test('an approval of rules without a digest no longer counts', () => {
  const nothingKnown = digests({});
  const held = approvedRules([ask('a', 1, 'block')], nothingKnown);
  expect(recheckApproval(held, decide(ask('a', 1, 'block')), nothingKnown)).toBe('ask');
});
