/** Prints the results of the drawn mutations: a table, each mutation that was not killed, and one line of JSON. */
import { printTable } from '../table.ts';
import type { Known } from './known.ts';
import type { Mutation } from './mutations.ts';
import type { Target } from './targets.ts';
import type { Verdict } from './verdict.ts';

export type Ended = {
  readonly mutation: Mutation;
  readonly verdict: Verdict | { readonly type: 'equivalent' };
};

/** The share of killed mutations among those that are not equivalent. */
export function report(
  ended: readonly Ended[],
  {
    targets,
    known,
    facts,
    say,
  }: {
    readonly targets: readonly Target[];
    readonly known: ReadonlyMap<string, Known>;
    /** Additional fields for the line of JSON. */
    readonly facts: Readonly<Record<string, number>>;
    readonly say: (line: string) => void;
  },
): number {
  const count = (type: Ended['verdict']['type'], among = ended): number =>
    among.filter(({ verdict }) => verdict.type === type).length;
  const numbers = (among: readonly Ended[]): readonly number[] => {
    const [killed, equivalent] = [count('killed', among), count('equivalent', among)];
    return [among.length, killed, equivalent, among.length - killed - equivalent];
  };
  const at = (path: string): Ended[] => ended.filter(({ mutation }) => mutation.path === path);
  say('');
  printTable(
    ['area', 'file', 'drawn', 'killed', 'equivalent', 'survived'],
    targets
      .filter(({ path }) => at(path).length > 0)
      .map(({ area, path }) => [area, path, ...numbers(at(path)).map(String)]),
  );
  const areas = [...new Set(targets.map(({ area }) => area))];
  const inArea = (area: string): Ended[] =>
    targets.filter((target) => target.area === area).flatMap(({ path }) => at(path));
  printTable(
    ['area', 'drawn', 'killed', 'equivalent', 'survived'],
    [
      ...areas
        .filter((area) => inArea(area).length > 0)
        .map((area) => [area, ...numbers(inArea(area)).map(String)]),
      ['all', ...numbers(ended).map(String)],
    ],
  );
  for (const { mutation, verdict } of ended)
    if (verdict.type !== 'killed') describe(mutation, verdict, known.get(mutation.key)?.reason, say);
  const [drawn = 0, killed = 0, equivalent = 0, survived = 0] = numbers(ended);
  const share = drawn === equivalent ? 1 : killed / (drawn - equivalent);
  const killedBy = (by: string): number =>
    ended.filter(({ verdict }) => verdict.type === 'killed' && verdict.by === by).length;
  say(
    JSON.stringify({
      mutate: 'source',
      ...facts,
      drawn,
      killed,
      by_timeout: killedBy('timeout'),
      by_crash: killedBy('crash'),
      equivalent,
      survived,
      unreached: count('unreached'),
      doubtful: count('doubtful'),
      killed_share: Number(share.toFixed(3)),
    }),
  );
  return share;
}

function describe(
  { key, path, line, original, replacement }: Mutation,
  verdict: Ended['verdict'],
  reason: string | undefined,
  say: (line: string) => void,
): void {
  const detail =
    verdict.type === 'survived'
      ? ` (${verdict.tests} of ${verdict.reaching} test files that reach it)`
      : verdict.type === 'doubtful'
        ? ` (${verdict.test})`
        : '';
  say(`${verdict.type}${detail}: ${path}:${line}`);
  say(`  key ${JSON.stringify(key)}`);
  for (const one of original.split('\n')) say(`  - ${one.trim()}`);
  for (const one of replacement.split('\n')) say(`  + ${one.trim()}`);
  if (reason !== undefined) say(`  reason: ${reason}`);
  say('');
}
