/**
 * The old text that breaks the rules of `npm run house`. The list only gets shorter.
 *
 * A hit is stored as a fingerprint of its sentence, under the file it was found in. So text can move between files, and
 * a message names only the new hits of a file.
 */
import { createHash } from 'node:crypto';
import type { Hit } from './tics.ts';

export type Baseline = {
  /** Fingerprints by file, separated by spaces. */
  readonly tics: Readonly<Record<string, string>>;
};

export type HitsByFile = ReadonlyMap<string, readonly Hit[]>;
type NewHits = { readonly file: string; readonly hits: readonly Hit[] };

/** Two sentences that differ only in line breaks, code or case have one fingerprint. */
function fingerprint({ tic, sentence }: Hit): string {
  const words = sentence.toLowerCase().match(/\p{L}+/gu) ?? [];
  return createHash('sha256')
    .update(`${tic} ${words.join(' ')}`)
    .digest('base64url')
    .slice(0, 6);
}

/**
 * The hits that are new. A hit is old if its sentence was in this file, or has moved here from a file that lost it.
 * A file may also exchange old hits for new ones, so that a rename may touch an old sentence.
 */
export function newHits(found: HitsByFile, { tics }: Baseline): NewHits[] {
  const unused = new Map(Object.entries(tics).map(([file, marks]) => [file, marks.split(' ')]));
  const take = (marks: string[] | undefined, mark: string): boolean => {
    const at = marks?.indexOf(mark) ?? -1;
    if (at !== -1) marks?.splice(at, 1);
    return at !== -1;
  };
  const notHere = [...found].map(([file, hits]) => ({
    file,
    hits: hits.filter((hit) => !take(unused.get(file), fingerprint(hit))),
  }));
  const unknown = notHere.map(({ file, hits }) => ({
    file,
    hits: hits.filter((hit) => ![...unused.values()].some((marks) => take(marks, fingerprint(hit)))),
  }));
  return unknown.filter(({ file, hits }) => hits.length > (unused.get(file)?.length ?? 0));
}

/** The baseline after this run. Call it only if nothing is new: then no number rises. */
export function toBaseline(hits: HitsByFile): Baseline {
  const entries = [...hits]
    .filter(([, of]) => of.length > 0)
    .map(([file, of]) => [file, of.map(fingerprint).sort().join(' ')] as const);
  return { tics: Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1))) };
}
