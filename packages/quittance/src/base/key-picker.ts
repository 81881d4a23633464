import type { JsonObject } from './json.ts';

/** Gives masked keys that have become equal a number each, so that no member is lost. */
export function createKeyPicker(members: JsonObject): (key: string, shown: string) => string {
  const counts = new Map<string, number>();
  const taken = new Set<string>();
  return (key, shown) => {
    if (shown === key) return key;
    let picked = shown;
    let count = counts.get(shown) ?? 1;
    while (taken.has(picked) || Object.hasOwn(members, picked)) picked = `${shown} ${++count}`;
    counts.set(shown, count);
    taken.add(picked);
    return picked;
  };
}
