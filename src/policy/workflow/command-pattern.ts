/** Patterns on commands, where a pattern that backtracks and gives up must never open a gate. */
import type { LinearRegex } from '../regex/linear-regex.ts';

export const surelyMatches = (regex: LinearRegex, command: string): boolean => regex.test(command) === true;

export const mayMatch = (regex: LinearRegex, command: string): boolean => regex.test(command) !== false;

/** What a `command_matches` or `command_not_matches` asks of one command. */
export const isCommandRight = (
  type: 'command_matches' | 'command_not_matches',
  regex: LinearRegex,
  command: string,
): boolean => (type === 'command_matches' ? surelyMatches(regex, command) : !mayMatch(regex, command));
