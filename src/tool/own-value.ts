/** What an object itself holds under a key; nothing it inherits, so `constructor` is a name like any other. */
export const ownValue = (value: object, key: PropertyKey): unknown =>
  // An object whose own key was just found can be read by it.
  Object.hasOwn(value, key) ? (value as { readonly [key: PropertyKey]: unknown })[key] : undefined;
