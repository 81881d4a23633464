/** How mutations ended, kept between runs so that an interrupted one goes on where it stopped. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export type Verdict =
  | { readonly type: 'killed'; readonly test: string; readonly title: string; readonly message: string }
  /** The tests did not end, which fails a run as well. */
  | { readonly type: 'timeout' }
  | { readonly type: 'survived'; readonly tests: number; readonly reaching: number }
  | { readonly type: 'unreached' }
  /** The test that killed it also fails without it. */
  | { readonly type: 'doubtful'; readonly test: string };

/** What a verdict rests on. */
export type Basis = {
  readonly source: string;
  /** Of all tests that reach the change, and of how many of them may run. */
  readonly tests: string;
  readonly hashOfTest: (test: string) => string | undefined;
};

type Kept = {
  readonly source: string;
  /** For a kill, of the test that killed it: whatever changes in other tests, it would do so again. */
  readonly tests: string;
  readonly verdict: Verdict;
};

export type Verdicts = {
  /** Undefined unless it rests on the same source and tests. */
  find(key: string, basis: Basis): Verdict | undefined;
  keep(key: string, basis: Basis, verdict: Verdict): void;
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
      if (found === undefined || found.source !== basis.source) return undefined;
      return found.tests === restsOn(found.verdict, basis) ? found.verdict : undefined;
    },
    keep(key, basis, verdict) {
      kept.set(key, { source: basis.source, tests: restsOn(verdict, basis), verdict });
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(Object.fromEntries(kept), undefined, 1));
    },
  };
}

const restsOn = (verdict: Verdict, { tests, hashOfTest }: Basis): string =>
  verdict.type === 'killed' ? (hashOfTest(verdict.test) ?? tests) : tests;

export const isKill = ({ type }: Verdict): boolean => type === 'killed' || type === 'timeout';
