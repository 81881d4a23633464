/** The input that hooks, rules and grants judge: the effective input with artifacts filled in. */
import { isJsonObject } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';
import { looseJson } from '../../base/loose-json.ts';
import type { PreparedInput } from './prepared-input.ts';

/** If the schema's result is not an object, the arguments that it accepted. */
export function judgedInput({
  form,
  value,
  checked,
}: Pick<PreparedInput, 'form' | 'value' | 'checked'>): JsonObject {
  const read = form === 'json' ? value : looseJson(value, checked);
  return isJsonObject(read) ? read : checked;
}
