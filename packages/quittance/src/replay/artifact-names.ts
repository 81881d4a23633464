import type { JsonValue } from '../base/json.ts';
import { defineMember, isJsonObject } from '../base/json.ts';

/** A copy in which each text that equals a key of `names` is replaced. Text that only contains a name stays. */
export function renameTexts(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (names.size === 0) return value;
  if (typeof value === 'string') return names.get(value) ?? value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => renameTexts(item, names));
  if (!isJsonObject(value)) return value;
  const renamed: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(value)) defineMember(renamed, key, renameTexts(value[key] ?? null, names));
  return renamed;
}

/** A copy in which all artifacts have the same name, because every run names them differently. */
export function withoutArtifactNames(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(withoutArtifactNames);
  if (!isJsonObject(value)) return value;
  const copy: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(value)) {
    const member = value[key] ?? null;
    defineMember(
      copy,
      key,
      key === '$artifact' && typeof member === 'string' ? '' : withoutArtifactNames(member),
    );
  }
  return copy;
}
