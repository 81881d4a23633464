import type { JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { ownValue } from './own-value.ts';

/** A new value for a place, or nothing: then the key there is removed. */
export type JsonEdit = { readonly path: JsonPath; readonly value: JsonValue | undefined };

/** What is at a path, by own properties only; undefined when there is nothing. */
export function valueAt(root: unknown, path: JsonPath): unknown {
  let at = root;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = ownValue(at, step);
  }
  return at;
}

/**
 * A copy of `root` with the edits made, sharing what they do not touch. Each container on the way is copied once,
 * however many edits it holds. An edit of something that is not there is left out.
 */
export function editJson(root: JsonObject, edits: readonly JsonEdit[]): JsonObject {
  const mine = new Set<object>();
  const copyOnce = (container: object): object => {
    if (mine.has(container)) return container;
    // Spreading takes an own `__proto__` over as the plain data it is.
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
  // A copy of a JSON object with JSON put in is one.
  return result as JsonObject;
}

/** Assigning to `__proto__` would change what the object inherits. */
const put = (holder: object, key: string | number, value: unknown): void => {
  Object.defineProperty(holder, key, { value, enumerable: true, writable: true, configurable: true });
};
