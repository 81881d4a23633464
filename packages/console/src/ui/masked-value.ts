import { safeSentence, shownId } from 'quittance/internal/base/safe-id';
import type { JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';

/** Event fields that hold an id or a tool name. */
const idFields = new Set([
  'sessionId',
  'callId',
  'turnId',
  'toolName',
  'displayName',
  'artifactId',
  'idempotencyKey',
]);

/** Masks every id and sentence in a value that looks like a secret. */
export function maskedValue(value: JsonValue): JsonValue {
  if (typeof value === 'string') return safeSentence(value);
  if (Array.isArray(value)) return value.map(maskedValue);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === 'string' && idFields.has(name) ? shownId(member) : maskedValue(member),
    ]),
  );
}
