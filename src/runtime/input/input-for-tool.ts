/**
 * The input for functions of a tool.
 *
 * 1. Each function gets its own copy if the input is JSON, so changes by one are invisible to the next.
 * 2. A value that JSON cannot hold is passed as it is. It is compared with the record before a body gets it.
 */
import type { JsonValue } from '../../base/json.ts';
import { copyJson, JsonCopying } from '../../base/json-copy.ts';
import { formatPath } from '../../base/json.ts';
import type { CompiledSchema } from '../../tool/schema.ts';
import type { PreparedInput } from './prepared-input.ts';

type Given = Pick<PreparedInput, 'form' | 'value' | 'checked'>;

export function inputForTool(schema: CompiledSchema, { form, value, checked }: Given): unknown {
  const given = form === 'json' ? copyOf(value as JsonValue) : value; // the form says so
  return schema.wrap === undefined ? given : schema.wrap(checked, given);
}

export function copyOf(input: JsonValue): JsonValue {
  const copy = copyJson(input, false);
  if (!(copy instanceof JsonCopying)) return copy ?? null;
  const { path = [], problem } = copy;
  throw new TypeError(`Arguments stopped being JSON at ${formatPath(path.reverse())}: ${problem}`);
}
