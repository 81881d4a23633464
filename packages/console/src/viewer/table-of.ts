/** A list of objects as a table: one column per member. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';

export type ValueTable = { readonly columns: readonly string[]; readonly rows: readonly JsonObject[] };

const mostColumns = 12;

/** Undefined if the value is not a list of objects. An object with one such list counts as that list. */
export function tableOf(value: JsonValue): ValueTable | undefined {
  const list = Array.isArray(value) ? (value as readonly JsonValue[]) : onlyList(value);
  if (list === undefined || list.length === 0 || !list.every(isJsonObject)) return undefined;
  const columns = [...new Set(list.flatMap((row) => Object.keys(row)))];
  return columns.length === 0 || columns.length > mostColumns ? undefined : { columns, rows: list };
}

function onlyList(value: JsonValue): readonly JsonValue[] | undefined {
  if (!isJsonObject(value)) return undefined;
  const lists = Object.values(value).filter((member): member is JsonValue[] => Array.isArray(member));
  return lists.length === 1 ? lists[0] : undefined;
}
