import { expect, test } from 'vitest';
import type { LinearRegex } from '../regex/linear-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';
import { compileOperator } from './operators.ts';

function readRegex(pattern: string): LinearRegex {
  const reading = parseRegex(pattern);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.regex;
}

test('text operators report where they match', () => {
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

test('operators on a whole value report no position', () => {
  expect(compileOperator('equals', 'a', readRegex).locate).toBeUndefined();
  expect(compileOperator('gt', 1, readRegex).locate).toBeUndefined();
});

test('one of several patterns is enough', () => {
  const { holds, locate } = compileOperator('matches_any', ['b', '^a+$'], readRegex);
  expect([holds('aa'), holds('ab'), holds('c'), holds(7)]).toEqual([true, true, false, 'error']);
  expect(locate?.find('ab')).toEqual([[1, 2]]);
});
