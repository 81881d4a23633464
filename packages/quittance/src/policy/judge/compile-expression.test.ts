import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sampleCall, sampleWorld } from '../../../../../test/sample-policy.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { compileExpression, type Condition } from './compile-expression.ts';
import type { Expression } from '../language/expression.ts';
import { parseRegex } from '../regex/linear-regex.ts';
import type { Truth } from './operators.ts';
import { parseSelector } from '../read/parse-selector.ts';
import type { PolicyWorld } from '../language/policy-call.ts';

function leaf(selector: string, operator: string, operand: JsonValue, onMissing?: 'fire'): Expression {
  const reading = parseSelector(selector, new Set(['host']));
  if (!reading.ok) throw new Error(reading.problem);
  return { type: 'leaf', selector: reading.selector, operator, operand, onMissing: onMissing ?? 'skip' };
}

function compile(expression: Expression, world: PolicyWorld = sampleWorld()): Condition {
  const readRegex = (pattern: string) => {
    const reading = parseRegex(pattern);
    if (!reading.ok) throw new Error(reading.problem);
    return reading.regex;
  };
  return compileExpression(expression, { world, readRegex }).evaluate;
}

const ask = (expression: Expression, input: JsonObject): Truth =>
  compile(expression)(sampleCall(input), undefined);

test.each<[operator: string, operand: JsonValue, field: JsonValue, expected: Truth]>([
  ['exists', true, 'x', true],
  ['exists', false, 'x', false],
  ['exists', true, '', true],
  ['exists', true, 0, true],
  ['exists', true, false, true],
  ['equals', 'a', 'a', true],
  ['equals', 'a', 'A', false],
  ['equals', 1, 1, true],
  ['equals', 1, '1', false],
  ['equals', 1, true, false],
  ['equals', true, 1, false],
  ['equals', 0, -0, true],
  ['equals', 'a', ['a'], false],
  ['not_equals', 1, '1', true],
  ['not_equals', 'a', { a: 1 }, true],
  ['not_equals', 'a', 'a', false],
  ['in', ['a', 1, true], 1, true],
  ['in', ['a', 1, true], '1', false],
  ['in', ['a'], ['a'], false],
  ['not_in', ['a'], 'b', true],
  ['not_in', ['a'], 'a', false],
  ['not_in', ['a'], ['a'], true],
  ['contains', 'rm', 'a rm b', true],
  ['contains', 'RM', 'a rm b', false],
  ['contains', 'a.c', 'abc', false],
  ['contains', 'x', 7, 'error'],
  ['contains', 'x', ['x'], 'error'],
  ['contains', 'x', { x: 1 }, 'error'],
  ['contains_any', ['y', 'x'], 'wx', true],
  ['contains_any', ['y', 'x'], 'w', false],
  ['contains_any', ['y'], false, 'error'],
  ['starts_with', '/etc', '/etc/hosts', true],
  ['starts_with', '/etc', ' /etc', false],
  ['starts_with', '/etc', 1, 'error'],
  ['ends_with', '.exe', 'a.exe', true],
  ['ends_with', '.exe', 'a.exe ', false],
  ['ends_with', '.exe', null, false],
  ['matches', '^(a+)+$', `${'a'.repeat(40)}!`, false],
  ['matches', '(?i)drop table', 'x DROP TABLE y', true],
  ['matches', 'x', 3, 'error'],
  ['matches_any', ['y', 'x+$'], 'axx', true],
  ['matches_any', ['y'], ['y'], 'error'],
  ['gt', 100, 100, false],
  ['gt', 100, 100.5, true],
  ['gt', 100, '101', 'error'],
  ['gt', 0, true, 'error'],
  ['gte', 5, 5, true],
  ['lt', 8, 8, false],
  ['lt', 8, 7, true],
  ['lte', 0.5, 0.5, true],
  ['lte', 1, [], 'error'],
])('%s %j of %j is %s', (operator, operand, field, expected) => {
  expect(ask(leaf('args.field', operator, operand), { field })).toBe(expected);
});

const operators: readonly [string, JsonValue][] = [
  ['equals', 'a'],
  ['not_equals', 'a'],
  ['in', ['a']],
  ['not_in', ['a']],
  ['contains', ''],
  ['contains_any', ['']],
  ['starts_with', ''],
  ['ends_with', ''],
  ['matches', ''],
  ['matches_any', ['']],
  ['gt', 0],
  ['gte', 0],
  ['lt', 0],
  ['lte', 0],
];

test.each(operators)(
  '%s is false for an absent or null value, so not is true, unless on_missing says fire',
  (operator, operand) => {
    const expression = leaf('args.field', operator, operand);
    for (const input of [{}, { field: null }, { other: 1 }]) {
      expect(ask(expression, input)).toBe(false);
      expect(ask({ type: 'not', of: expression }, input)).toBe(true);
      expect(ask(leaf('args.field', operator, operand, 'fire'), input)).toBe(true);
    }
  },
);

test('exists tests for presence and null, whatever on_missing says', () => {
  expect(ask(leaf('args.field', 'exists', true, 'fire'), {})).toBe(false);
  expect(ask(leaf('args.field', 'exists', false), { field: null })).toBe(true);
});

const yes = leaf('tool.name', 'exists', true);
const no = leaf('tool.name', 'exists', false);
const error = leaf('tool.name', 'gt', 1);

test.each<[string, Expression, Truth]>([
  ['an error after a false is not reached in all', { type: 'all', of: [no, error] }, false],
  ['an error before a false is the answer of all', { type: 'all', of: [error, no] }, 'error'],
  ['an error after a true is not reached in any', { type: 'any', of: [yes, error] }, true],
  ['an error before a true is the answer of any', { type: 'any', of: [error, yes] }, 'error'],
  ['not keeps an error', { type: 'not', of: error }, 'error'],
  ['all of trues is true', { type: 'all', of: [yes, yes] }, true],
  ['any of falses is false', { type: 'any', of: [no, no] }, false],
])('%s', (_title, expression, expected) => {
  expect(ask(expression, {})).toBe(expected);
});

/** The semantics of the language, written a second time. */
function meaning(expression: Expression): Truth {
  switch (expression.type) {
    case 'leaf':
      return expression === yes ? true : expression === no ? false : 'error';
    case 'not': {
      const of = meaning(expression.of);
      return of === 'error' ? of : !of;
    }
    case 'all':
      return expression.of.map(meaning).find((truth) => truth !== true) ?? true;
    case 'any':
      return expression.of.map(meaning).find((truth) => truth !== false) ?? false;
  }
}

test('conditions of any shape follow the semantics of the language', () => {
  const { tree } = fc.letrec<{ tree: Expression }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(yes, no, error),
      fc.record({ type: fc.constant('not' as const), of: tie('tree') }),
      fc.record({
        type: fc.constantFrom('all' as const, 'any' as const),
        of: fc.array(tie('tree'), { minLength: 1, maxLength: 4 }),
      }),
    ),
  }));
  fc.assert(
    fc.property(tree, (expression) => {
      expect(ask(expression, {})).toBe(meaning(expression));
    }),
  );
});

test('a host operator answers true or false; throwing or any other answer is an error', () => {
  const operators = {
    odd: (field: JsonValue) => Number(field) % 2 === 1,
    broken: () => {
      throw new Error('no');
    },
    vague: (() => 'yes') as unknown as () => boolean,
  };
  const world = sampleWorld({ operators });
  const answer = (operator: string, input: JsonObject): Truth =>
    compile(leaf('args.n', operator, true), world)(sampleCall(input), undefined);
  expect(answer('odd', { n: 3 })).toBe(true);
  expect(answer('odd', { n: 2 })).toBe(false);
  expect(answer('odd', {})).toBe(false);
  expect(answer('broken', { n: 1 })).toBe('error');
  expect(answer('vague', { n: 1 })).toBe('error');
  expect(answer('constructor', { n: 1 })).toBe('error');
});

test('a host selector that throws, or returns a promise, is an error', () => {
  const world = sampleWorld({
    selectors: {
      host: ([name]) => {
        if (name === 'broken') throw new Error('no');
        // A host may return a promise although it must answer synchronously.
        if (name === 'later') return Promise.resolve('value') as unknown as JsonValue;
        return name === 'known' ? 'value' : undefined;
      },
    },
  });
  const answer = (name: string): Truth =>
    compile(leaf(`host.${name}`, 'equals', 'value'), world)(sampleCall(), undefined);
  expect(answer('known')).toBe(true);
  expect(answer('unknown')).toBe(false);
  expect(answer('broken')).toBe('error');
  expect(answer('later')).toBe('error');
});

test('no arguments make a condition throw', () => {
  const conditions = operators.map(([operator, operand]) => compile(leaf('args.a.b', operator, operand)));
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      for (const input of [{ a }, { a: { b } }])
        for (const condition of conditions)
          // fast-check's JSON is JSON.
          expect([true, false, 'error']).toContain(condition(sampleCall(input as JsonObject), undefined));
    }),
  );
});
