import type { JsonPath } from '../base/json.ts';
import { cutText } from '../base/cut-text.ts';
import { ownValue } from '../base/json.ts';

/** One problem with a value, and its path. */
export type SchemaIssue = { readonly path: JsonPath; readonly message: string };

/** The result of checking a value: the schema's output, or all issues. */
export type SchemaCheck =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly issues: readonly SchemaIssue[];
      /** Set if the schema itself failed: how, for the developer. */
      readonly mistake?: string;
    };

/** Most issues that a check reports, for any input. */
export const mostIssues = 20_000;

/** An issue about the value as a whole. */
export const issueAtRoot = (message: string): SchemaIssue => ({ path: [], message: cutText(message, 1_000) });

/**
 * The path that a checker reported, with indexes as numbers and keys as strings. Checkers write indexes differently,
 * so the containers on the way decide.
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

/** A step is a key, or an object that contains one. */
function stepKey(step: unknown): string {
  const key = typeof step === 'object' && step !== null && 'key' in step ? step.key : step;
  return typeof key === 'symbol' ? (key.description ?? '') : String(key);
}
