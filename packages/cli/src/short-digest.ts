/** The part of a digest that people type: long enough to be unique. */
import { UsageError } from './usage-error.ts';

const fewest = 12;

/** Without the name of the algorithm. */
const hexOf = (digest: string): string => digest.slice(digest.lastIndexOf(':') + 1);

export const shortDigest = (digest: string): string => hexOf(digest).slice(0, fewest);

/** Does the typed text match this digest: all of it, or at least its first twelve characters? */
export function namesDigest(typed: string, digest: string): boolean {
  const hex = hexOf(typed).replace(/…$/, '').toLowerCase();
  if (!/^[0-9a-f]*$/.test(hex) || hex.length < fewest)
    throw new UsageError(
      `--digest takes a digest, or at least the first ${fewest} characters of one; found ${JSON.stringify(typed)}.`,
      ['quittance pending'],
    );
  const scheme = typed.slice(0, typed.length - hexOf(typed).length);
  return (scheme === '' || digest.startsWith(scheme)) && hexOf(digest).startsWith(hex);
}
