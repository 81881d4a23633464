/**
 * Changes copies of a ledger at random, then verifies and rebuilds each: `npm run tamper -- --edits 20000 --seed 1`.
 * With `--store postgres`, the ledger is in PostgreSQL.
 * Exit code 1: a change was not found, something crashed, or verify wrote to a file.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import { editKinds } from './edit.ts';
import { fillForTampering } from './fill.ts';
import { openPostgresTamper, postgresKinds } from './postgres.ts';
import { makeScratch, tryEdit } from './try-edit.ts';

const numberAfter = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const edits = numberAfter('--edits', 2_000);
const seed = numberAfter('--seed', 1);

const folder = mkdtempSync(join(tmpdir(), 'quittance-tamper-'));
const sound = makeScratch(join(folder, 'sound'));
const store = process.argv.includes('postgres') ? 'postgres' : 'sqlite';
const postgres = store === 'postgres' ? await openPostgresTamper(sound) : undefined;
if (postgres === undefined) await fillForTampering(join(sound, 'ledger.db'));
process.stdout.write(`${edits} edits from seed ${seed}\n`);

const rows = new Map<
  string,
  { tried: number; refused: number; changed: number; found: number; crashed: number; wrote: number }
>(
  (postgres === undefined ? editKinds : postgresKinds).map((kind) => [
    kind,
    { tried: 0, refused: 0, changed: 0, found: 0, crashed: 0, wrote: 0 },
  ]),
);
const wrong: string[] = [];
const progress = createProgress('edits', edits);
let refused = 0;
for (let number = 0; number < edits; number++) {
  const trial = await (postgres?.tryEdit(seed + number) ?? tryEdit(sound, folder, seed + number));
  progress.step();
  if (trial === undefined) {
    refused++;
    continue;
  }
  const { kind, what, changed, found, crash, wrote } = trial;
  const row = rows.get(kind);
  if (row === undefined) continue;
  row.tried++;
  if (changed) row.changed++;
  if (changed && found) row.found++;
  if (crash !== undefined) row.crashed++;
  if (wrote) row.wrote++;
  if (crash !== undefined) wrong.push(`seed ${seed + number}: ${what}: ${crash}`);
  else if (changed && !found) wrong.push(`seed ${seed + number}: ${what}: not found`);
  else if (wrote) wrong.push(`seed ${seed + number}: ${what}: verify wrote to a file`);
}
progress.done();
printTable(
  ['edit', 'made', 'changed content', 'found', 'crashes', 'verify wrote'],
  [...rows].map(([kind, { tried, changed, found, crashed, wrote }]) =>
    [kind, tried, changed, found, crashed, wrote].map(String),
  ),
);
for (const line of wrong.slice(0, 200)) process.stdout.write(`${line}\n`);
const sum = (
  pick: (row: { changed: number; found: number; crashed: number; wrote: number; tried: number }) => number,
): number => [...rows.values()].reduce((total, row) => total + pick(row), 0);
process.stdout.write(
  `${JSON.stringify({
    tamper: 'ledger',
    store,
    seed,
    edits,
    refused_by_store: refused,
    made: sum((row) => row.tried),
    changed: sum((row) => row.changed),
    found: sum((row) => row.found),
    crashes: sum((row) => row.crashed),
    verify_wrote: sum((row) => row.wrote),
  })}\n`,
);
await postgres?.close();
rmSync(folder, { recursive: true });
process.exitCode = wrong.length > 0 ? 1 : 0;
