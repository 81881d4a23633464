/**
 * What functions of a tool are given of the input.
 *
 * 1. Every one gets a copy of its own where the input is JSON: what one of them changes, the next does not see.
 * 2. What JSON cannot hold is handed out as it is. It is compared with what was recorded before a body gets it.
 */
import type { JsonValue } from '../../base/json.ts';
import { formatPath, toJson } from '../../base/json.ts';
import type { CompiledSchema } from '../../tool/schema.ts';
import type { PreparedInput } from './prepared-input.ts';

type Given = Pick<PreparedInput, 'form' | 'value' | 'checked'>;

export function inputForTool(schema: CompiledSchema, { form, value, checked }: Given): unknown {
  const given = form === 'json' ? copyOf(value as JsonValue) : value; // the form says so
  return schema.wrap === undefined ? given : schema.wrap(checked, given);
}

export function copyOf(input: JsonValue): JsonValue {
  const copy = toJson(input);
  if (copy.ok) return copy.value;
  throw new TypeError(`Arguments stopped being JSON at ${formatPath(copy.path)}: ${copy.problem}`);
}
