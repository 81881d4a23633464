/** What hooks, rules and grants look at: the effective input, artifacts filled in. */
import { isJsonObject } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';
import { looseJson } from '../../base/loose-json.ts';
import type { PreparedInput } from './prepared-input.ts';

/** Where the schema gives something that is no object at all, the arguments it accepted. */
export function judgedInput({
  form,
  value,
  checked,
}: Pick<PreparedInput, 'form' | 'value' | 'checked'>): JsonObject {
  const read = form === 'json' ? value : looseJson(value, checked);
  return isJsonObject(read) ? read : checked;
}
