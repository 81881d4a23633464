/** Parses a JSON option: the text itself, or `@` and the name of a file. */
import { readFileSync } from 'node:fs';
import type { JsonValue } from 'quittance/internal/base/json';
import { parseJson } from 'quittance/internal/base/json';
import { UsageError } from './usage-error.ts';

export function readJsonArgument(typed: string, option: string, example: string): JsonValue {
  const tryThis = [`--${option} '${example}'`, `--${option} @file.json`];
  const isFile = typed.startsWith('@');
  const text = isFile ? readFile(typed.slice(1), option, tryThis) : typed;
  const read = parseJson(text);
  if (read.ok) return read.value;
  // The message does not repeat the text, because it may contain a secret.
  throw new UsageError(
    `--${option} is JSON${isFile ? `, and ${typed.slice(1)} is not JSON` : ''}: ${read.problem}.`,
    tryThis,
  );
}

function readFile(path: string, option: string, tryThis: readonly string[]): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(
      `--${option} names a file that cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      tryThis,
    );
  }
}
