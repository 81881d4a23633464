import type { Given } from './command.ts';
import { UsageError } from './usage-error.ts';

/** The value of a required option. */
export function requireOption(given: Given, option: string, why: string, line: string): string {
  const value = given.text(option);
  if (value !== undefined && value.trim() !== '') return value;
  throw new UsageError(`${why}: --${option} is missing.`, [line]);
}
