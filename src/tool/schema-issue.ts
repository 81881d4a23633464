import type { JsonPath } from '../base/json.ts';
import { cutText } from '../base/cut-text.ts';
import { ownValue } from './own-value.ts';

/** One thing that is wrong with a value, and where. */
export type SchemaIssue = { readonly path: JsonPath; readonly message: string };

/** What came of checking a value: what the schema made of it, or everything that is wrong with it. */
export type SchemaCheck =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** What a check reports is bounded, whatever it is given. */
export const mostIssues = 20_000;

/** An issue about the value as a whole. */
export const issueAtRoot = (message: string): SchemaIssue => ({ path: [], message: cutText(message, 1_000) });

/**
 * The path a checker reported, with indexes as numbers and keys as strings. Checkers do not agree on how to
 * write an index; what the steps lead through decides.
 */
export function toJsonPath(steps: Iterable<unknown>, root: unknown): JsonPath {
  const path: (string | number)[] = [];
  let at = root;
  for (const step of steps) {
    const key = stepKey(step);
    path.push(Array.isArray(at) && /^\d+$/.test(key) ? Number(key) : key);
    at = typeof at === 'object' && at !== null ? ownValue(at, key) : undefined;
  }
  return path;
}

/** A step is a key, or an object that holds one. */
function stepKey(step: unknown): string {
  const key = typeof step === 'object' && step !== null && 'key' in step ? step.key : step;
  return typeof key === 'symbol' ? (key.description ?? '') : String(key);
}
