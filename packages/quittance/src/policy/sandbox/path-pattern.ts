/**
 * Patterns in paths. `src/*.ts` names many files. It is inside if its folder is and if it cannot match a denied place.
 *
 * Programs differ in what `[`, `!` and `(` mean in a pattern. So a component with such a mark may match every name
 * that starts with the letters before the mark. A lone `*` or `**` does not match names that start with a dot, as in
 * shells and search tools.
 */
import { foldName as fold } from '../../base/fold-name.ts';

export const isPathPattern = (part: string): boolean => /[*?[\]]|[!@+]\(/.test(part);

/** The same name in different letters (base/fold-name.ts), with dots and spaces that Windows drops, short names. */
export function mayBeName(part: string, name: string): boolean {
  const written = foldName(part);
  const wanted = foldName(name);
  if (written === wanted) return true;
  const short = /^([^~]{1,6})~\d{1,2}(?:\.[^.]{0,3})?$/.exec(written)?.[1];
  return short !== undefined && wanted.replace(/[^\p{L}\p{N}]/gu, '').startsWith(short);
}

/** Windows drops dots and spaces at the end. */
const foldName = (name: string): string => fold(name).replace(/(?<=[^. ])[. ]+$/, '');

function mayMatch(part: string, name: string): boolean {
  if (!isPathPattern(part)) return mayBeName(part, name);
  if (/^\*+$/.test(part)) return !foldName(name).startsWith('.');
  const wanted = foldName(name);
  const start = foldName(/^[^*?[\]!@+]*/.exec(part)?.[0] ?? '');
  // Only `*` and `?` are read alike everywhere, so only after them the end of the name counts.
  const end = /[[\](]/.test(part) ? '' : foldName(/[^*?]*$/.exec(part)?.[0] ?? '');
  return wanted.startsWith(start) && wanted.endsWith(end);
}

/** Can the components name the denied place or something below it? */
export function mayReach(parts: readonly string[], denied: readonly string[]): boolean {
  // Positions in `denied` that the components so far may have reached.
  let reached = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    for (const at of reached) {
      const name = denied[at];
      if (name === undefined) return true;
      if (mayMatch(part, name)) next.add(at + 1);
      if (part === '**') {
        next.add(at);
        for (let further = at; further < denied.length; further++) {
          if (!mayMatch(part, denied[further] ?? '')) break;
          next.add(further + 1);
        }
      }
    }
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.has(denied.length);
}
