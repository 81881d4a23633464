import { quote } from '../base/nearest.ts';

/** A value in words for a message: `"refnd"`, `-1`, `an array`. Bounded, and never throws. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (value === null || typeof value === 'number' || typeof value === 'boolean' || value === undefined) {
    return String(value);
  }
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
