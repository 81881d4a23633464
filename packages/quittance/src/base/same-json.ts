import type { JsonValue } from './json.ts';

/** Do both contain the same data? The order of members does not matter. */
export function isSameJson(left: JsonValue, right: JsonValue): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right))
    return Array.isArray(left) && Array.isArray(right) && isSameList(left, right);
  const members = left as { readonly [key: string]: JsonValue };
  const others = right as { readonly [key: string]: JsonValue };
  let more = 0;
  for (const key in members)
    if (Object.hasOwn(members, key)) {
      if (!Object.hasOwn(others, key) || !isSameJson(members[key] as JsonValue, others[key] as JsonValue))
        return false;
      more++;
    }
  for (const key in others) if (Object.hasOwn(others, key)) more--;
  return more === 0;
}

function isSameList(left: readonly JsonValue[], right: readonly JsonValue[]): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at++)
    if (!isSameJson(left[at] as JsonValue, right[at] as JsonValue)) return false;
  return true;
}
