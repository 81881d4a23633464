import { cutText } from './cut-text.ts';

/** Longer names are compared by their beginning: a name has at most 128 characters anyway. */
const comparedLength = 128;
const farthest = 4;

/**
 * The known names most similar to the wanted one, nearest first; dissimilar names are left out. Case does not matter,
 * and two swapped letters count as one slip. A name that starts otherwise must be nearer. Of two equally near names, the
 * one with the longer common start comes first. The cost is bounded: both sides are cut, and only names within four slips
 * are measured.
 */
export function nearestNames(wanted: string, known: Iterable<string>, limit = 3): readonly string[] {
  const from = comparable(wanted);
  const reach = Math.min(farthest, Math.max(1, Math.floor(from.length / 2)));
  const reachOfOtherStart = Math.min(reach, Math.max(1, Math.floor((from.length + 1) / 3)));
  const found: { readonly name: string; readonly slips: number; readonly shared: number }[] = [];
  for (const name of known) {
    const to = comparable(name);
    const shared = sharedStart(from, to);
    const mostSlips = shared > 0 ? reach : reachOfOtherStart;
    const slips = countSlips(from, to, mostSlips);
    if (slips <= mostSlips) found.push({ name, slips, shared });
  }
  return found
    .sort((a, b) => a.slips - b.slips || b.shared - a.shared)
    .slice(0, limit)
    .map(({ name }) => name);
}

/** Is one name the other with at most `reach` slips? Case does not matter. */
export const isSlipOf = (name: string, known: string, reach: number): boolean =>
  countSlips(comparable(name), comparable(known), reach) <= reach;

/** `No tool named "refnd". Known tools: refund, lookup.` with the nearest names first, and never a long list. */
export function describeUnknownName(what: string, wanted: string, known: readonly string[]): string {
  const shown = 5;
  const none = `No ${what} named ${quote(wanted)}.`;
  if (known.length === 0) return `${none} There are no ${what}s.`;
  const named = [...new Set([...nearestNames(wanted, known), ...known.slice(0, shown)])].slice(0, shown);
  const rest = known.length - named.length;
  return `${none} Known ${what}s: ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`;
}

/** Foreign text as a JSON string of bounded length. */
export const quote = (text: string): string => JSON.stringify(cutText(text, comparedLength));

const comparable = (name: string): string => name.slice(0, comparedLength).toLowerCase();

/** Number of common letters at the start of two names. */
function sharedStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/**
 * Damerau–Levenshtein (adjacent swaps) distance inside a band; anything beyond `reach` is `reach + 1`. The band makes
 * it cheap: a cell outside it cannot lead back to a small distance.
 */
function countSlips(a: string, b: string, reach: number): number {
  const tooFar = reach + 1;
  if (Math.abs(a.length - b.length) > reach) return tooFar;
  let beforeLast = new Uint8Array(b.length + 1);
  let last = Uint8Array.from({ length: b.length + 1 }, (_, index) => Math.min(index, tooFar));
  let row = new Uint8Array(b.length + 1);
  for (let i = 1; i <= a.length; i++) {
    row.fill(tooFar);
    row[0] = Math.min(i, tooFar);
    let best = row[0];
    for (let j = Math.max(1, i - reach); j <= Math.min(b.length, i + reach); j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(beforeLast, j - 2) + 1 : tooFar;
      const slips = Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced, swapped, tooFar);
      row[j] = slips;
      best = Math.min(best, slips);
    }
    if (best > reach) return tooFar;
    [beforeLast, last, row] = [last, row, beforeLast];
  }
  return at(last, b.length);
}

const at = (row: Uint8Array, index: number): number => row[index] ?? Number.POSITIVE_INFINITY;
