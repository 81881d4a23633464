import { randomBytes } from 'node:crypto';

/** Whole groups of base64, so that no two salts share a byte. */
const saltBytes = 18;
const saltChars = 24;
const perDraw = 256;

/** Fresh random texts, drawn many at a time: asking the system costs more than a salt. */
export function createSalts(): () => string {
  let drawn = '';
  let next = 0;
  return () => {
    if (next >= drawn.length) {
      drawn = randomBytes(saltBytes * perDraw).toString('base64url');
      next = 0;
    }
    next += saltChars;
    return drawn.slice(next - saltChars, next);
  };
}
