import { randomBytes } from 'node:crypto';

/** A multiple of three bytes, so that no two salts share a base64 group. */
const saltBytes = 18;
const saltChars = 24;
const perDraw = 256;

/** Random texts, generated many at a time: a system call costs more than a salt. */
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
