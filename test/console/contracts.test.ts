import { expect, test } from 'vitest';
import type { RuleHit, RuleInForce } from '../../packages/server/src/http/api/contract.ts';
import { compareVersions } from '../../packages/console/src/pages/contracts/compare-versions.ts';
import { findRules, joinHits } from '../../packages/console/src/pages/contracts/join-hits.ts';
import { offsetOf } from '../../packages/console/src/pages/contracts/offset-of.ts';
import { emptyCall, readTriedCall } from '../../packages/console/src/pages/contracts/tried-call.ts';
import { documentsOf, readDraft } from '../../packages/console/src/pages/contracts/use-draft.ts';

const rule = (ruleId: string, more: Partial<RuleInForce> = {}): RuleInForce => ({
  ruleId,
  type: 'pre',
  mode: 'enforce',
  tool: 'refund',
  action: 'block',
  message: undefined,
  source: 'rules.yaml',
  line: 3,
  tags: [],
  ...more,
});
const hit = (ruleId: string): RuleHit => ({
  ruleId,
  action: 'block',
  hits: 2,
  observed: 0,
  lastAt: 1,
  lastCall: { sessionId: 's', callId: 'c' },
});

test('rules are shown with their rulings, separate from rulings of earlier rules', () => {
  const { rules, others } = joinHits([rule('a'), rule('b')], {
    calls: 9,
    since: 1,
    exact: true,
    rules: [hit('gone'), hit('b')],
    denials: [{ ruleId: 'b', calls: 1_234, lastAt: 1 }],
  });
  expect(rules.map(({ denied }) => denied)).toEqual([0, 1_234]);
  expect(rules.map(({ rule: { ruleId }, hit: said }) => [ruleId, said?.hits])).toEqual([
    ['a', undefined],
    ['b', 2],
  ]);
  expect(others.map(({ ruleId }) => ruleId)).toEqual(['gone']);
  expect(joinHits([rule('a')], undefined).others).toEqual([]);
});

test('rules are found by any of their texts', () => {
  const { rules } = joinHits([rule('a', { tags: ['money'] }), rule('b', { mode: 'observe' })], undefined);
  const found = (text: string): readonly string[] =>
    findRules(rules, text).map(({ rule: { ruleId } }) => ruleId);
  expect(found('MONEY')).toEqual(['a']);
  expect(found('observe')).toEqual(['b']);
  expect(found('refund')).toEqual(['a', 'b']);
  expect(found('nothing like it')).toEqual([]);
});

test('a line and a column are found in a text, and a position past its end is the end', () => {
  const text = 'one\ntwo\n\nfour';
  expect([offsetOf(text, 1), offsetOf(text, 2, 3), offsetOf(text, 3, 9), offsetOf(text, 4, 2)]).toEqual([
    0, 6, 8, 10,
  ]);
  expect([offsetOf(text, 2, 99), offsetOf(text, 99), offsetOf('', 1, 1)]).toEqual([7, text.length, 0]);
});

test('versions differ in the documents whose digests differ', () => {
  const a = { name: 'a.yaml', stamp: '1', text: 'a\n' };
  const b = { name: 'b.yaml', stamp: '1', text: 'b\n' };
  const changed = { ...a, stamp: '2', text: 'A\n' };
  expect(compareVersions([a, b], [a, b])).toEqual([]);
  expect(compareVersions([a, b], [changed])).toEqual([
    { name: 'a.yaml', how: 'text', before: 'a\n', after: 'A\n' },
    { name: 'b.yaml', how: 'text', before: 'b\n', after: '' },
  ]);
  expect(compareVersions([], [{ name: 'code', stamp: '9' }])).toEqual([{ name: 'code', how: 'unknown' }]);
});

test('a tried call is sent as typed, and empty fields are left out', () => {
  expect(
    readTriedCall({
      ...emptyCall,
      toolName: 'refund',
      input: '{"cents":1,"__proto__":{"a":1}}',
      sessionId: 's',
    }),
  ).toEqual({
    ok: true,
    body: {
      toolName: 'refund',
      arguments: JSON.parse('{"cents":1,"__proto__":{"a":1}}') as object,
      sessionId: 's',
    },
  });
  const read = readTriedCall({
    ...emptyCall,
    input: '[1]',
    principal: '{"userId":',
    metadata: '{"n":12345678901234567890}',
    output: '"anything goes"',
  });
  expect(read.ok ? [] : [...read.problems.keys()]).toEqual(['input', 'principal', 'metadata']);
});

test('a draft starts with the texts in force, or with starter rules', () => {
  expect(
    documentsOf({
      documents: [
        { name: 'a', stamp: '1', text: 'x' },
        { name: 'code', stamp: '2' },
      ],
    }),
  ).toEqual([{ name: 'a', text: 'x' }]);
  expect(documentsOf({ documents: [] })[0]?.text).toContain('kind: Ruleset');
});

test('a stored draft is used only if it is valid', () => {
  expect(readDraft('[{"name":"a","text":"b"}]')).toEqual([{ name: 'a', text: 'b' }]);
  for (const kept of [null, '', '{', '[]', '[{"name":"a"}]', '[null]', '{"name":"a","text":"b"}'])
    expect(readDraft(kept)).toBeUndefined();
});
