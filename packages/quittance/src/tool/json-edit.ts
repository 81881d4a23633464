import type { JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { ownValue } from '../base/json.ts';

/** A new value for a path; undefined removes the key. */
export type JsonEdit = { readonly path: JsonPath; readonly value: JsonValue | undefined };

/** The value at a path, by own properties only; undefined if there is none. */
export function valueAt(root: unknown, path: JsonPath): unknown {
  let at = root;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = ownValue(at, step);
  }
  return at;
}

/**
 * A copy of `root` with the edits, sharing untouched parts. Each container on the way is copied once, however many
 * edits it has. An edit of a missing path is ignored.
 */
export function editJson(root: JsonObject, edits: readonly JsonEdit[]): JsonObject {
  const mine = new Set<object>();
  const copyOnce = (container: object): object => {
    if (mine.has(container)) return container;
    // Spreading copies an own `__proto__` as plain data.
    const copy = Array.isArray(container) ? [...(container as readonly unknown[])] : { ...container };
    mine.add(copy);
    return copy;
  };
  const result = copyOnce(root);
  for (const { path, value } of edits) {
    let holder = result;
    for (const step of path.slice(0, -1)) {
      const inner = ownValue(holder, step);
      if (typeof inner !== 'object' || inner === null) break;
      const copy = copyOnce(inner);
      if (copy !== inner) put(holder, step, copy);
      holder = copy;
    }
    const last = path.at(-1);
    if (last === undefined || !Object.hasOwn(holder, last)) continue;
    if (value === undefined) Reflect.deleteProperty(holder, last);
    else put(holder, last, value);
  }
  // A copy of a JSON object with JSON inserted is a JSON object.
  return result as JsonObject;
}

/** Assigning to `__proto__` would change the prototype. */
const put = (holder: object, key: string | number, value: unknown): void => {
  Object.defineProperty(holder, key, { value, enumerable: true, writable: true, configurable: true });
};
