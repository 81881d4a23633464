/** The own value under a key; nothing inherited, so `constructor` is a name like any other. */
export const ownValue = (value: object, key: PropertyKey): unknown =>
  // An object with that own key can be read by it.
  Object.hasOwn(value, key) ? (value as { readonly [key: PropertyKey]: unknown })[key] : undefined;
