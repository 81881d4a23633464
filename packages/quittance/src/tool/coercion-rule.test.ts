import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../base/json.ts';
import type { CoercionRule } from './coerce.ts';
import { coercionRules } from './coerce.ts';

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

  test.each<[JsonValue]>([
    ['a'],
    ['ann'],
    ['Müller'],
    ['node.js'],
    ['ann.smith@example.org'],
    ['terms-of-use'],
    ['user_17'],
    ['b1c2-d3e4'],
    ['2026-01-05'],
    ['e-mail'],
    ['rest-api'],
    ['Tom'],
    ['vitamin-e'],
    ['march-2026'],
    ['en'],
    ['5'],
    ['-5'],
    ['1.5'],
    [5],
    [-5],
  ])('%j can only be one value, so it may become an array of one', (value) => {
    expect(propose('single_to_array', value)).toEqual(becomes([value]));
  });

  test.each<[string, readonly JsonValue[]]>([
    ['a value that is neither a number nor a text', [null, {}, [], true, false]],
    ['a number for none or all', [0, -1, '0', '-1', '-1.0', '0.00']],
    ['an empty text', ['', ' ', '\n', '\u200b', '\u00a0']],
    ['a quoted text or cut JSON', ['[1, 2', '{a', '"a"', "'a'", '`a`', '```json', '(1, 2)', '<a>', '(none)']],
    [
      'several words',
      ['a b', 'ann smith', 'a and b', 'a or b', 'first a then b', 'a\tb', 'a\u00a0b', 'New York'],
    ],
    [
      'words with something between them',
      [
        'a,b',
        'a; b',
        'a\nb',
        'a | b',
        'a|b',
        'a/b',
        'a & b',
        'a&b',
        'a + b',
        'a+b',
        'a → b',
        'a·b',
        'a、b',
        'a，b',
      ],
    ],
    ['marks and numbers of a list', ['- a', '* a', '• a', '1. a', '1) a', 'a...', 'a..b', 'a:b', '#a #b']],
    ['a range', ['1-3', '10-20', 'a-f', '1–3', '1..3', '1:3', '1~3', 'mon-fri', 'Monday-Friday', 'jan_mar']],
    ['words that are joined', ['a_and_b', 'red-or-blue', 'ann-und-bob', 'rojo_y_azul', 'AND']],
    [
      'a word for none',
      [
        'none',
        'None',
        'NONE',
        'null',
        'nil',
        'undefined',
        'N/A',
        'n/a',
        'NA',
        'n-a',
        'n.a',
        'nan',
        'empty',
        'no-one',
        'noone',
        'not-applicable',
      ],
    ],
    [
      'a word for none in another language',
      [
        'keine',
        'keins',
        'aucun',
        'néant',
        'ninguno',
        'nessuno',
        'nulla',
        'nenhum',
        'geen',
        'ingen',
        'ingenting',
        'brak',
        'nic',
        'yok',
        'boş',
        'kosong',
        'không',
        'nincs',
        'nimic',
        'tyhjä',
        '无',
        'なし',
        'нет',
      ],
    ],
    [
      'a word for all in another language',
      [
        'alle',
        'Iedereen',
        'chacun',
        'tudo',
        'wszyscy',
        'všechny',
        'hepsi',
        'semua',
        'minden',
        'toate',
        'kaikki',
      ],
    ],
    ['words that are joined in another language', ['ann_i_bob', 'ann-och-bob', 'ann-ve-bob', 'ann_és_bob']],
    [
      'a word for an answer in another language',
      ['nie', 'não', 'hayır', 'kyllä', 'sí', 'unbekannt', 'nieznany'],
    ],
    [
      'a word for all',
      ['all', 'ALL', 'any', '*', 'everyone', 'both', 'alle', 'todos', 'all-users', 'ｎｏｎｅ'],
    ],
    ['a sign for nothing', ['-', '--', '—', '_', '.', '...', '…', '?', '∅', '/']],
    [
      'an answer or a placeholder',
      ['yes', 'no', 'true', 'False', 'y', 'x', 'tbd', 'TODO', 'string', 'placeholder', 'unknown'],
    ],
    ['text without spaces between words', ['苹果和香蕉', 'りんごとバナナ', 'แอปเปิลและกล้วย']],
  ])('%s may be something else than one value, so it is not wrapped', (_, values) => {
    for (const value of values)
      expect([value, propose('single_to_array', value)]).toEqual([value, undefined]);
  });

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
