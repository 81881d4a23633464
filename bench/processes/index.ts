/**
 * Runs several real processes on one ledger. Measures the speed of each and the share of the slowest. Checks the
 * shared guarantees: each effect once, one outcome per call, exact limits.
 *
 *   npm run processes -- [--seconds 3] [--lanes 32] [--calls 300] [--ledger sqlite|postgres]
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileLedgers, openPostgresLedgers } from '../crash/ledgers.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import type { Errand, Told } from './errand.ts';

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  const value = at < 0 ? otherwise : Number(process.argv[at + 1]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  process.stderr.write(`--${name} takes a whole number above 0, e.g. --${name} ${otherwise}.\n`);
  process.exit(2);
};
const ms = option('seconds', 3) * 1_000;
const lanes = option('lanes', 32);
const calls = option('calls', 300);
const goal = 0.5;

/** Starts this many processes together, once all are ready, and returns the messages of each. */
async function runAll(count: number, errand: Errand): Promise<Told[][]> {
  const children = Array.from({ length: count }, () =>
    fork(join(import.meta.dirname, 'child.ts'), [JSON.stringify(errand)], {
      execArgv: ['--conditions=quittance-source'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    }),
  );
  const ready = children.map(() => Promise.withResolvers<undefined>());
  const ends = children.map(
    (child, index) =>
      new Promise<Told[]>((resolve, reject) => {
        const told: Told[] = [];
        child.on('message', (message) => {
          const said = message as Told;
          if (said.type === 'ready') ready[index]?.resolve(undefined);
          else told.push(said);
        });
        child.on('exit', (code, signal) =>
          code === 0 ? resolve(told) : reject(new Error(`A process ended with ${signal ?? code}.`)),
        );
      }),
  );
  const all = Promise.all(ends);
  await Promise.race([Promise.all(ready.map(({ promise }) => promise)), all]);
  for (const child of children) child.send('go');
  return all;
}

const folder = mkdtempSync(join(tmpdir(), 'quittance-processes-'));
process.chdir(folder); // spills and the seal key of the processes go there
const at = process.argv.indexOf('--ledger');
const ledgers =
  at > 0 && process.argv[at + 1] === 'postgres' ? await openPostgresLedgers() : fileLedgers(folder);
const progress = createProgress('processes', 5);
let made = 0;
const newLedger = (): string => ledgers.create(`processes-${++made}`);

const speeds: { readonly count: number; readonly each: readonly number[]; readonly share: number }[] = [];
const common: {
  readonly count: number;
  readonly duplicated: number;
  readonly missing: number;
  readonly unlike: number;
  readonly overLimit: number;
  readonly heldTwice: number;
  readonly heldMissing: number;
  readonly decidedTwice: number;
}[] = [];
try {
  for (const count of [1, 2, 4]) {
    const told = await runAll(count, { what: 'measure', ledger: newLedger(), lanes, ms, calls });
    const each = told.flat().flatMap((said) => (said.type === 'measured' ? [(said.calls * 1_000) / ms] : []));
    const fair = each.reduce((sum, rate) => sum + rate, 0) / count;
    speeds.push({ count, each, share: fair === 0 ? 0 : Math.min(...each) / fair });
    progress.step();
  }
  for (const count of [2, 4]) {
    const told = (await runAll(count, { what: 'share', ledger: newLedger(), lanes, ms, calls })).flat();
    const effects = countEffects(told);
    const outcomes = told.flatMap((said) => (said.type === 'shared' ? [said.outcomes] : []));
    const first = outcomes[0] ?? {};
    const limit = Math.floor(calls / 2);
    const limited = countEffects(
      (await runAll(count, { what: 'share', ledger: newLedger(), lanes, ms, calls, limit })).flat(),
    );
    const held = Math.min(calls, 60);
    const approved = (
      await runAll(count, { what: 'approve', ledger: newLedger(), lanes, ms, calls: held })
    ).flat();
    const heldEffects = countEffects(approved);
    const decisions = approved.reduce(
      (sum, said) => sum + (said.type === 'approved' ? said.decisions : 0),
      0,
    );
    common.push({
      count,
      duplicated: [...effects.values()].filter((times) => times > 1).length,
      missing: 2 * calls - effects.size,
      unlike: Object.keys(first).filter((id) => outcomes.some((other) => other[id] !== first[id])).length,
      overLimit: [...limited.values()].reduce((sum, times) => sum + times, 0) - limit,
      heldTwice: [...heldEffects.values()].filter((times) => times > 1).length,
      heldMissing: held - heldEffects.size,
      decidedTwice: decisions - held,
    });
    progress.step();
  }
} finally {
  progress.done();
  await ledgers.close();
  rmSync(folder, { recursive: true, force: true });
}

function countEffects(told: readonly Told[]): Map<string, number> {
  const effects = new Map<string, number>();
  for (const said of told)
    if (said.type === 'effect') effects.set(said.key, (effects.get(said.key) ?? 0) + 1);
  return effects;
}

const whole = (value: number): string => String(Math.round(value));
printTable(
  ['processes', 'calls/s together', 'calls/s each', 'slowest, of a fair share'],
  speeds.map(({ count, each, share }) => [
    String(count),
    whole(each.reduce((sum, rate) => sum + rate, 0)),
    each
      .toSorted((one, other) => one - other)
      .map(whole)
      .join(' '),
    share.toFixed(2),
  ]),
);
printTable(
  [
    'processes',
    'effects twice',
    'effects missing',
    'outcomes that differ',
    'over the limit',
    'approved, twice',
    'approved, missing',
    'decided twice',
  ],
  common.map((row) => Object.values(row).map(String)),
);
const worst = Math.min(...speeds.map(({ share }) => share));
const wrong = common.some(
  ({ duplicated, missing, unlike, overLimit, heldTwice, heldMissing, decidedTwice }) =>
    [duplicated, missing, unlike, overLimit, heldTwice, heldMissing, decidedTwice].some((many) => many !== 0),
);
process.stdout.write(
  `${JSON.stringify({ processes: 'core', goal, slowest_share: Number(worst.toFixed(2)), speeds, common })}\n`,
);
if (wrong) process.exitCode = 1;
else if (worst < goal) {
  process.stderr.write(`The slowest process got ${worst.toFixed(2)} of a fair share; the goal is ${goal}.\n`);
  process.exitCode = 1;
}
