import { quote } from './nearest.ts';

/** What was found, in words for a message: `"refnd"`, `-1`, `an array`. Bounded, and never throws. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  const type = typeof value;
  switch (type) {
    case 'string':
      return quote(value);
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'bigint':
      return 'a BigInt';
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    case 'object':
      return 'an object';
  }
}
