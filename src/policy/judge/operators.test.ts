import { expect, test } from 'vitest';
import type { LinearRegex } from '../regex/linear-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';
import { compileOperator } from './operators.ts';

function readRegex(pattern: string): LinearRegex {
  const reading = parseRegex(pattern, { allowBacktracking: true });
  if (!reading.ok) throw new Error(reading.problem);
  return reading.regex;
}

test('text operators say where they hold', () => {
  const where = (
    operator: 'contains' | 'starts_with' | 'ends_with' | 'matches',
    operand: string,
    text: string,
  ) => compileOperator(operator, operand, readRegex).locate?.find(text);
  expect(where('contains', 'ab', 'abcab')).toEqual([
    [0, 2],
    [3, 5],
  ]);
  expect(where('starts_with', 'ab', 'abcab')).toEqual([[0, 2]]);
  expect(where('starts_with', 'b', 'abcab')).toEqual([]);
  expect(where('ends_with', 'ab', 'abcab')).toEqual([[3, 5]]);
  expect(where('matches', 'b.a', 'abcab')).toEqual([[1, 4]]);
  expect(where('contains', '', 'abcab')).toEqual([]);
});

test('operators about a value as a whole do not', () => {
  expect(compileOperator('equals', 'a', readRegex).locate).toBeUndefined();
  expect(compileOperator('gt', 1, readRegex).locate).toBeUndefined();
});

test('in a text on which one of the patterns gives up all of it counts as found', () => {
  const { holds, locate } = compileOperator('matches_any', ['b', '^(?=a)(a+)+$'], readRegex);
  const hopeless = `${'a'.repeat(50)}!b`;
  expect(holds(hopeless)).toBe(true);
  expect(locate?.find(hopeless)).toContainEqual([0, hopeless.length]);
  expect(locate?.find('aa')).toEqual([[0, 2]]);
});
