import { safeSentence, shownId } from '../../../src/base/safe-id.ts';
import type { JsonValue } from '../../../src/base/json.ts';
import { isJsonObject } from '../../../src/base/json.ts';

/** Fields of events that hold an id or the name of a tool. */
const idFields = new Set([
  'sessionId',
  'callId',
  'turnId',
  'toolName',
  'displayName',
  'artifactId',
  'idempotencyKey',
]);

/** A value as people may read it: every id and every sentence in it that looks like a secret is masked. */
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
