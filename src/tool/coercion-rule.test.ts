import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../base/json.ts';
import type { CoercionRule } from './coercion-rule.ts';
import { coercionRules } from './coercion-rule.ts';

const propose = (rule: CoercionRule, value: JsonValue): unknown =>
  coercionRules.find(({ name }) => name === rule)?.propose(value);
const becomes = (value: JsonValue): unknown => ({ type: 'replace', value });

describe('the coercion rules', () => {
  test('are an immutable table with one sentence each', () => {
    expect(coercionRules.map(({ name }) => name)).toEqual([
      'numeric_string',
      'boolean_string',
      'json_string',
      'single_to_array',
      'null_dropped',
    ]);
    for (const { sentence } of coercionRules) expect(sentence).toMatch(/^[A-Z].+\.$/);
    expect(Object.isFrozen(coercionRules) && coercionRules.every(Object.isFrozen)).toBe(true);
  });

  test.each<[string, number]>([
    ['5', 5],
    ['-5', -5],
    ['0', 0],
    ['1.5', 1.5],
    ['1.50', 1.5],
    ['0.1', 0.1],
    ['100', 100],
    ['1e5', 100_000],
    ['1E+2', 100],
    ['15e-1', 1.5],
    ['9007199254740991', 9_007_199_254_740_991],
    ['-9007199254740991', -9_007_199_254_740_991],
    ['0.30000000000000004', 0.30000000000000004],
    ['1e-7', 1e-7],
    ['0.00', 0],
  ])('%j is a number', (text, value) => {
    expect(propose('numeric_string', text)).toEqual(becomes(value));
  });

  test.each([
    '',
    ' ',
    ' 12 ',
    '12 ',
    '\n12',
    '0x10',
    '0b1',
    '1,000',
    '1_000',
    'Infinity',
    '-Infinity',
    'NaN',
    '+5',
    '05',
    '.5',
    '5.',
    '1e',
    'five',
    '--5',
    '-',
    '12345678901234567890',
    '9007199254740993',
    '9007199254740992',
    '1e400',
    '1e-400',
    '1e21',
    '3.14159265358979323846',
    '-0',
    '５',
    '1'.repeat(1_000),
    '5n',
    'null',
    'true',
  ])('%j is not a number, or not the same one', (text) => {
    expect(propose('numeric_string', text)).toBeUndefined();
  });

  test.each<[string, boolean]>([
    ['true', true],
    ['false', false],
    ['True', true],
    ['FALSE', false],
  ])('%j is a boolean', (text, value) => {
    expect(propose('boolean_string', text)).toEqual(becomes(value));
  });

  test.each(['', 'yes', 'no', '1', '0', ' true', 'true ', 'tru', 'on'])('%j is not a boolean', (text) => {
    expect(propose('boolean_string', text)).toBeUndefined();
  });

  test.each<[string, JsonValue]>([
    ['{}', {}],
    ['[]', []],
    [' \n[1, 2]', [1, 2]],
    ['{"a":"1"}', { a: '1' }],
    ['[1,]', [1]],
    ['{"a":[1, 2, ], }', { a: [1, 2] }],
    ["{'a':1}", { a: 1 }],
    [`['it\\'s', "a, b", True, None]`, ["it's", 'a, b', true, null]],
    ['```json\n["a"]\n```', ['a']],
    ['\uFEFF["a"]', ['a']],
  ])('%j is the JSON of a container', (text, value) => {
    expect(propose('json_string', text)).toEqual(becomes(value));
  });

  test.each([
    '1',
    '"x"',
    'null',
    'true',
    '',
    '{',
    '{} {}',
    '[,]',
    '[1,,]',
    "['it's']",
    '[1, 2',
    '{"a":1,"a":2}',
    '```json\n[1]\n```\n```json\n[2]\n```',
    '[12345678901234567890]',
    '[x](y)',
  ])('%j is not', (text) => {
    expect(propose('json_string', text)).toBeUndefined();
  });

  test('a container in JSON keeps __proto__ as data', () => {
    const proposal = propose('json_string', '{"__proto__":{"a":1}}') as { value: object };
    expect(Object.getPrototypeOf(proposal.value)).toBe(Object.prototype);
    expect(Object.keys(proposal.value)).toEqual(['__proto__']);
  });

  test('a scalar may become an array of one; null and containers may not', () => {
    expect(propose('single_to_array', 'a')).toEqual(becomes(['a']));
    expect(propose('single_to_array', 5)).toEqual(becomes([5]));
    expect(propose('single_to_array', false)).toEqual(becomes([false]));
    for (const other of [null, {}, []]) expect(propose('single_to_array', other)).toBeUndefined();
  });

  test.each(['', ' ', '[1, 2', '{a', '"a"', "'a'", '`a`', '```json', 'a,b', 'a; b', 'a\nb', '(1, 2)'])(
    'the text %j may itself be a list, so it is not wrapped',
    (text) => {
      expect(propose('single_to_array', text)).toBeUndefined();
    },
  );

  test('only null may be dropped', () => {
    expect(propose('null_dropped', null)).toEqual({ type: 'drop' });
    for (const other of ['', 'null', 0, false, {}, []])
      expect(propose('null_dropped', other)).toBeUndefined();
  });

  test('text rules leave all other values alone', () => {
    for (const rule of ['numeric_string', 'boolean_string', 'json_string'] as const) {
      for (const other of [null, 1, true, {}, []]) expect(propose(rule, other)).toBeUndefined();
    }
  });
});
