import { expect, test } from 'vitest';
import { isCommandRight } from './command-pattern.ts';
import type { LinearRegex } from '../regex/linear-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';

function regex(pattern: string): LinearRegex {
  const reading = parseRegex(pattern, { allowBacktracking: true });
  if (!reading.ok) throw new Error(reading.problem);
  return reading.regex;
}

test('a command is right if it matches, or does not, as the check says', () => {
  expect(isCommandRight('command_matches', regex('^make'), 'make a')).toBe(true);
  expect(isCommandRight('command_matches', regex('^make'), 'rm a')).toBe(false);
  expect(isCommandRight('command_not_matches', regex('^make'), 'make a')).toBe(false);
  expect(isCommandRight('command_not_matches', regex('^make'), 'rm a')).toBe(true);
});

test('a command on which a pattern gives up is never right', () => {
  const hopeless = `make ${'a'.repeat(100)}!`;
  for (const type of ['command_matches', 'command_not_matches'] as const)
    expect(isCommandRight(type, regex('^make (?=a)(a+)+$'), hopeless)).toBe(false);
  expect(isCommandRight('command_matches', regex('^make (a+)+!$'), hopeless)).toBe(true);
});
