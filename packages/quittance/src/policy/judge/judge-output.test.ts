/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  policyOf,
  policyOfDocuments,
  documentOf,
  postRule,
  sampleCall,
} from '../../../../../test/sample-policy.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { CodeRule } from '../language/code-rule.ts';
import type { Policy, ToolEnd } from './compile-policy.ts';
import type { OutputRuling } from '../language/ruling.ts';

function judge(policy: Policy, end: ToolEnd, call = sampleCall()): OutputRuling {
  const ruling = policy.judgeOutput(call, end);
  if ('then' in ruling) throw new Error('No rule here waits.');
  return ruling;
}

const judgeResult = (rules: readonly JsonObject[], value: JsonValue): OutputRuling =>
  judge(policyOf(rules), { type: 'result', value });

const redact = (when: JsonObject): readonly JsonObject[] => [postRule('hide', 'redact', when)];

const afterRedaction = (when: JsonObject, value: JsonValue): JsonValue =>
  judgeResult(redact(when), value).output;

test('an output that no rule applies to passes unchanged', () => {
  const value = { a: 'fine' };
  const ruling = judgeResult(redact({ 'output.text': { contains: 'secret' } }), value);
  expect(ruling.decision).toBe('pass');
  expect(ruling.output).toBe(value);
});

test.each<[operator: string, operand: JsonValue, before: string, after: string]>([
  ['contains', 'sec', 'a sec sec', 'a [REDACTED] [REDACTED]'],
  ['contains_any', ['ab', 'bc'], 'xabcx', 'x[REDACTED]x'],
  ['starts_with', 'sec', 'secret sec', '[REDACTED]ret sec'],
  ['ends_with', 'ret', 'ret secret', 'ret sec[REDACTED]'],
  ['matches', 'k-[0-9]+', 'k-1 and k-22', '[REDACTED] and [REDACTED]'],
  ['matches_any', ['a+', 'b+'], 'aab c', '[REDACTED][REDACTED] c'],
  ['matches', 'x*', 'abc', '[REDACTED]'],
  ['equals', 'all', 'all', '[REDACTED]'],
  ['exists', true, 'all', '[REDACTED]'],
  ['not_equals', 'none', 'all', '[REDACTED]'],
])('%s %j makes %j into %j', (operator, operand, before, after) => {
  const when = { 'result.field': { [operator]: operand } };
  expect(afterRedaction(when, { field: before, other: [1, null, true] })).toEqual({
    field: after,
    other: [1, null, true],
  });
});

test('text operators treat an output that is itself a text the same way', () => {
  expect(afterRedaction({ 'output.text': { matches: 'k-[0-9]+' } }, 'a k-1 b')).toBe('a [REDACTED] b');
  expect(afterRedaction({ 'output.text': { starts_with: 'k-' } }, 'k-1 k-2')).toBe('[REDACTED]1 k-2');
});

test('a value of the wrong type makes the rule fire and is hidden as a whole', () => {
  const ruling = judgeResult(redact({ 'result.pin': { matches: '^[0-9]+$' } }), { pin: 1234, name: 'x' });
  expect(ruling.output).toEqual({ pin: '[REDACTED]', name: 'x' });
  expect(ruling.decidedBy?.policyError).toBe(true);
});

test('an item of a list is hidden in place', () => {
  expect(
    afterRedaction({ 'result.rows.1.key': { exists: true } }, { rows: [{ key: 1 }, { key: 2, kept: 3 }] }),
  ).toEqual({
    rows: [{ key: 1 }, { key: '[REDACTED]', kept: 3 }],
  });
});

test('matches of output.text are hidden at any depth, in keys too, and other values keep their types', () => {
  const value = { a: [{ b: ['x k-1', 2, null] }], 'k-2': true, n: 3, list: [[]] };
  expect(afterRedaction({ 'output.text': { matches: 'k-[0-9]+' } }, value)).toEqual({
    a: [{ b: ['x [REDACTED]', 2, null] }],
    '[REDACTED]': true,
    n: 3,
    list: [[]],
  });
});

test('part of a key is hidden like part of a text', () => {
  const when = { 'output.text': { contains: 'k-1' } };
  expect(afterRedaction(when, { 'the k-1 key': 1 })).toEqual({ 'the [REDACTED] key': 1 });
});

test('a redaction mark is not matched again', () => {
  const when = { 'output.text': { contains: 'RED' } };
  expect(afterRedaction(when, { a: 'x RED y', b: 'kept' })).toEqual({ a: 'x [REDACTED] y', b: 'kept' });
});

test('a match in escapes, as JSON writes them, hides the values it touches', () => {
  const when = { 'output.text': { contains: String.raw`a\nb","c` } };
  expect(afterRedaction(when, ['a\nb', 'c', 'd'])).toEqual(['[REDACTED]', '[REDACTED]', 'd']);
});

test('keys that become equal lose no member', () => {
  expect(
    afterRedaction({ 'output.text': { matches: 'k-[0-9]+' } }, { 'k-1': 1, 'k-2': 2, '[REDACTED]': 3 }),
  ).toEqual({
    '[REDACTED] 2': 1,
    '[REDACTED] 3': 2,
    '[REDACTED]': 3,
  });
});

test('a secret that contains quotes and line breaks is found, however JSON would write it', () => {
  const key = '-----BEGIN KEY-----\nab"c\\d\n-----END KEY-----';
  const when = { 'output.text': { matches: '(?s)-----BEGIN KEY-----\n.*?-----END KEY-----' } };
  expect(afterRedaction(when, { deep: [`x ${key} y`] })).toEqual({ deep: ['x [REDACTED] y'] });
  expect(afterRedaction({ 'output.text': { contains: 'b"c\\d' } }, [key])).toEqual([
    '-----BEGIN KEY-----\na[REDACTED]\n-----END KEY-----',
  ]);
});

test('a number is hidden if its digits match', () => {
  const when = { 'output.text': { matches: '\\b[0-9]{16}\\b' } };
  expect(afterRedaction(when, { card: 4111111111111111, year: 2026 })).toEqual({
    card: '[REDACTED]',
    year: 2026,
  });
});

test('a match that covers a name and its value hides both, and nothing else', () => {
  const when = { 'output.text': { matches: '"password":"[^"]+"' } };
  expect(afterRedaction(when, { user: 'u', password: 'hunter2', last: 1 })).toEqual({
    user: 'u',
    '[REDACTED]': '[REDACTED]',
    last: 1,
  });
});

test('a match of plain text that covers several values hides each', () => {
  const when = { 'output.text': { matches: 'line\nbreak","then"' } };
  expect(afterRedaction(when, ['line\nbreak', 'then', 'other'])).toEqual([
    '[REDACTED]',
    '[REDACTED]',
    'other',
  ]);
});

test('a match that touches no value hides the whole output', () => {
  expect(afterRedaction({ 'output.text': { contains: '[[' } }, [[1]])).toBe('[REDACTED]');
  expect(afterRedaction({ 'output.text': { starts_with: '{"' } }, { a: 1 })).toBe('[REDACTED]');
  expect(afterRedaction({ 'tool.name': { equals: 'Bash' } }, { a: 1 })).toBe('[REDACTED]');
  expect(afterRedaction({ 'result.gone': { exists: false } }, { a: 1 })).toBe('[REDACTED]');
});

test('every leaf that matched is hidden, evaluated or not; leaves under not are not', () => {
  const when = {
    any: [
      { 'result.a': { contains: 'x' } },
      { 'result.b': { contains: 'y' } },
      { not: { 'result.c': { contains: 'z' } } },
      { not: { not: { 'result.d': { contains: 'w' } } } },
    ],
  };
  expect(afterRedaction(when, { a: 'ax', b: 'by', c: 'cz', d: 'dw' })).toEqual({
    a: 'a[REDACTED]',
    b: 'b[REDACTED]',
    c: 'cz',
    d: 'd[REDACTED]',
  });
});

test('later rules see the output that earlier rules left', () => {
  const rules = [
    postRule('first', 'redact', { 'output.text': { contains: 'k-1' } }),
    postRule('second', 'block', { 'output.text': { contains: 'k-1' } }),
    postRule('third', 'warn', { 'output.text': { contains: '[REDACTED]' } }),
  ];
  const ruling = judgeResult(rules, { a: 'k-1' });
  expect(ruling.fired.map(({ ruleId }) => ruleId)).toEqual(['first', 'third']);
  expect(ruling.decision).toBe('redact');
});

test('block beats redact beats warn, and all fired rules are listed in order', () => {
  const rules = [
    postRule('warns', 'warn', { 'output.text': { contains: 'a' } }),
    postRule('hides', 'redact', { 'output.text': { contains: 'b' } }),
    postRule('blocks', 'block', { 'output.text': { contains: 'a' } }),
  ];
  const ruling = judgeResult(rules, 'ab');
  expect(ruling.decision).toBe('block');
  expect(ruling.decidedBy?.ruleId).toBe('blocks');
  expect(ruling.fired.map(({ ruleId }) => ruleId)).toEqual(['warns', 'hides', 'blocks']);
});

test('the text of an error is judged like an output, and has no result', () => {
  const rules = [
    ...redact({ 'output.text': { matches: 'k-[0-9]+' } }),
    postRule('no-result', 'block', { 'result.a': { exists: true } }),
  ];
  const ruling = judge(policyOf(rules), { type: 'error', text: 'failed with k-1' });
  expect(ruling.output).toBe('failed with [REDACTED]');
  expect(ruling.decision).toBe('redact');
});

test('an observing rule changes nothing and reports what it would have done', () => {
  const value = { a: 'k-1' };
  const rule = postRule('watch', 'redact', { 'output.text': { contains: 'k-1' } }, { mode: 'observe' });
  const ruling = judgeResult([rule], value);
  expect(ruling.decision).toBe('pass');
  expect(ruling.output).toBe(value);
  expect(ruling.observed).toMatchObject([{ ruleId: 'watch', action: 'redact', observed: true }]);
});

test('a candidate only observes', () => {
  const rule = (id: string): JsonObject => postRule(id, 'block', { 'output.text': { contains: 'x' } });
  const policy = policyOfDocuments([
    documentOf([postRule('real', 'warn', { 'output.text': { contains: 'x' } })]),
    documentOf([rule('real')], { observe_alongside: true }),
  ]);
  const ruling = judge(policy, { type: 'result', value: 'x' });
  expect(ruling.decision).toBe('warn');
  expect(ruling.observed.map(({ ruleId }) => ruleId)).toEqual(['real:candidate']);
});

test('a warning does not quote a value that a later rule hides', () => {
  const rules = [
    postRule(
      'warns',
      'warn',
      { 'output.text': { contains: 'k-1' } },
      { then: { action: 'warn', message: 'Saw {output.text}' } },
    ),
    ...redact({ 'output.text': { contains: 'k-1' } }),
  ];
  expect(judgeResult(rules, 'it is k-1').fired[0]?.message).toBe('Saw "it is [REDACTED]"');
});

test('rules for other tools are not asked', () => {
  const rules = [postRule('other', 'block', { 'output.text': { exists: true } }, { tool: 'Read' })];
  expect(judgeResult(rules, 'x').decision).toBe('pass');
});

const codeRule = (check: (output: JsonValue) => unknown): CodeRule => ({
  type: 'code',
  id: 'code',
  tool: '*',
  mode: undefined,
  tags: [],
  metadata: undefined,
  when: 'after',
  // Plain JavaScript may answer anything.
  check: (_call, output) => check(output) as undefined,
});

test('code may replace the output, also asynchronously, and later rules see the replacement', async () => {
  const hide = codeRule(async (output) => {
    await Promise.resolve();
    return { action: 'redact', message: 'gone', output: { was: typeof output } };
  });
  const ruling = await policyOf([], undefined, [hide]).judgeOutput(sampleCall(), {
    type: 'result',
    value: [1],
  });
  expect(ruling).toMatchObject({ decision: 'redact', output: { was: 'object' } });
});

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('oops');
    },
  ],
  ['rejects', async () => await Promise.reject(new Error('oops'))],
  ['answers nonsense', () => ({ action: 'allow', message: 'x' })],
  ['gives no JSON', () => ({ action: 'redact', message: 'x', output: () => 1 })],
])('code that %s blocks the output', async (_title, check) => {
  const ruling = await policyOf([], undefined, [codeRule(check)]).judgeOutput(sampleCall(), {
    type: 'result',
    value: 'x',
  });
  expect(ruling).toMatchObject({ decision: 'block', decidedBy: { policyError: true } });
});

test('no secret survives redaction, wherever it is in an output', () => {
  const secret = 'k-123456';
  const policy = policyOf(redact({ 'output.text': { matches: 'k-[0-9]{6}' } }));
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 10 }),
    fc.tuple(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 })).map(([a, b]) => a + secret + b),
    fc.constantFrom(secret, '__proto__', '[REDACTED]'),
  );
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.constantFrom(null, true, 1),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(text, tie('value'), { maxKeys: 3 }),
    ),
  }));
  fc.assert(
    fc.property(value, (output) => {
      const ruling = judge(policy, { type: 'result', value: output });
      expect(JSON.stringify(ruling.output)).not.toContain(secret);
      expect(ruling.output === output).toBe(!JSON.stringify(output).includes(secret));
    }),
  );
});
