/** A JSON value. Read-only: payloads do not change after they come in. */
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
export type JsonPrimitive = string | number | boolean | null;
export type JsonObject = { readonly [key: string]: JsonValue };

/** Sets a member whose key may be `__proto__` without touching any prototype. */
export function defineMember(holder: { [key: string]: JsonValue }, key: string, value: JsonValue): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}
