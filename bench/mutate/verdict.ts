/** How mutations ended, kept between runs so that an interrupted one goes on where it stopped. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export type Verdict =
  | { readonly type: 'killed'; readonly test: string; readonly title: string; readonly message: string }
  /** The tests did not end, which fails a run as well. */
  | { readonly type: 'timeout' }
  | { readonly type: 'survived'; readonly tests: number; readonly reaching: number }
  | { readonly type: 'unreached' };

type Kept = { readonly basis: string; readonly verdict: Verdict };

export type Verdicts = {
  /** Undefined unless it was reached on the same basis: the same source and tests. */
  find(key: string, basis: string): Verdict | undefined;
  keep(key: string, basis: string, verdict: Verdict): void;
};

export function openVerdicts(file: string): Verdicts {
  const kept = new Map<string, Kept>();
  try {
    for (const [key, value] of Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, Kept>))
      kept.set(key, value);
  } catch {
    // There are none yet.
  }
  return {
    find: (key, basis) => {
      const found = kept.get(key);
      return found?.basis === basis ? found.verdict : undefined;
    },
    keep(key, basis, verdict) {
      kept.set(key, { basis, verdict });
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(Object.fromEntries(kept), undefined, 1));
    },
  };
}

export const isKill = ({ type }: Verdict): boolean => type === 'killed' || type === 'timeout';
