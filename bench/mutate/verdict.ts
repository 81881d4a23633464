/**
 * The results of mutations, kept between runs. Kills are stored in the repository, so that the next run needs only
 * the test that killed. Survivals are stored with the other caches, because they depend on many tests.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export type Kill = {
  readonly type: 'killed';
  readonly test: string;
  readonly title: string;
  /** How the test failed. A timeout or a crash counts only after a run of the same test without the mutation. */
  readonly by: 'assertion' | 'timeout' | 'crash';
};

export type Verdict =
  | Kill
  | { readonly type: 'survived'; readonly tests: number; readonly reaching: number }
  | { readonly type: 'unreached' }
  /** The only failing tests also fail without it, or did not fail again. */
  | { readonly type: 'doubtful'; readonly test: string };

/** A kill in the repository. It is valid while both hashes match; otherwise its test runs again. */
type KeptKill = Omit<Kill, 'type'> & { readonly source: string; readonly hash: string };

/** A survival depends on all tests that reach the change, and on how many of them may run. */
type KeptSurvival = {
  readonly source: string;
  readonly tests: string;
  readonly verdict: Exclude<Verdict, Kill>;
};

export type Verdicts = {
  kill(key: string): KeptKill | undefined;
  keepKill(key: string, kill: KeptKill): void;
  /** A mutation that its test no longer kills, or that is no longer made. */
  forgetKill(key: string): void;
  kills(): readonly (readonly [key: string, kill: KeptKill])[];
  /** Undefined unless it was found with the same source and tests. */
  survival(key: string, basis: Pick<KeptSurvival, 'source' | 'tests'>): KeptSurvival['verdict'] | undefined;
  keepSurvival(key: string, survival: KeptSurvival): void;
};

export function openVerdicts(killFile: string, survivalFile: string): Verdicts {
  const kills = read<KeptKill>(killFile);
  const survivals = read<KeptSurvival>(survivalFile);
  return {
    kill: (key) => kills.get(key),
    keepKill(key, { test, title, by, source, hash }) {
      kills.set(key, { test, title, by, source, hash });
      save(killFile, kills);
    },
    forgetKill(key) {
      if (kills.delete(key)) save(killFile, kills);
    },
    kills: () => [...kills],
    survival(key, { source, tests }) {
      const found = survivals.get(key);
      return found?.source === source && found.tests === tests ? found.verdict : undefined;
    },
    keepSurvival(key, survival) {
      survivals.set(key, survival);
      save(survivalFile, survivals);
    },
  };
}

/** Throws for a file that is not JSON, because saving would overwrite it with less. */
function read<Value>(file: string): Map<string, Value> {
  if (!existsSync(file)) return new Map();
  return new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, Value>));
}

/** Sorted, so that one changed verdict changes only a few lines. */
function save(file: string, values: ReadonlyMap<string, unknown>): void {
  mkdirSync(dirname(file), { recursive: true });
  const sorted = [...values].toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}
