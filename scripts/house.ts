/**
 * Checks what no linter knows: plain English, no tests that fail by chance on a busy machine, and the meters of the
 * structure. `npm run house`, part of `npm run lint`. Old text is listed in house/baseline.json, and the meters are
 * recorded in house/meters.json; neither may get worse. `--update` lowers both, `--list [path]` prints every hit, old ones
 * too.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { newHits, toBaseline, type Baseline } from './house/baseline.ts';
import { readFiles } from './house/read-files.ts';
import type { Hit } from './house/tics.ts';
import { linesByFolder, measure, worseMeters, type Meters } from './house/meters.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { update: { type: 'boolean', default: false }, list: { type: 'boolean', default: false } },
});
const root = join(import.meta.dirname, '..');
const baselineFile = join(import.meta.dirname, 'house/baseline.json');
const metersFile = join(import.meta.dirname, 'house/meters.json');

const files = readFiles(root);
const hits = new Map(files.map((file) => [file.path, file.hits]));

if (values.list) list();
else {
  check();
  checkMeters();
}

function check(): void {
  if (values.update && !existsSync(baselineFile)) return write();
  const baseline = JSON.parse(readFileSync(baselineFile, 'utf8')) as Baseline;
  const problems = newHits(hits, baseline).flatMap(({ file, hits: worse }) =>
    worse.map((hit) => describe(file, hit)),
  );
  if (problems.length > 0) {
    console.error(problems.join('\n'));
    console.error(`\n${problems.length} new. Write it plainly; old text is not counted.`);
    process.exitCode = 1;
    return;
  }
  if (values.update) write();
}

function checkMeters(): void {
  const measured = measure(root);
  const recorded = JSON.parse(readFileSync(metersFile, 'utf8')) as Meters;
  for (const [name, value] of Object.entries(measured))
    console.log(`${name.padEnd(22)}${String(value).padStart(6)}  recorded ${recorded[name as keyof Meters]}`);
  const lines = [...linesByFolder(root)].sort(([, left], [, right]) => right - left);
  const total = lines.reduce((sum, [, count]) => sum + count, 0);
  console.log(`lines of src: ${total} (${lines.map(([name, count]) => `${name} ${count}`).join(', ')})`);
  const problems = worseMeters(measured, recorded);
  if (problems.length > 0) {
    console.error(problems.join('\n'));
    process.exitCode = 1;
  } else if (values.update) {
    const lowered = Object.entries(measured).map(([name, value]) => [
      name,
      Math.min(value, recorded[name as keyof Meters]),
    ]);
    writeFileSync(metersFile, `${JSON.stringify(Object.fromEntries(lowered), undefined, 2)}\n`);
  }
}

function write(): void {
  writeFileSync(baselineFile, `${JSON.stringify(toBaseline(hits), undefined, 2)}\n`);
  console.log('Wrote scripts/house/baseline.json.');
}

function list(): void {
  const isAsked = (path: string): boolean =>
    positionals.length === 0 || positionals.some((start) => path.startsWith(start));
  const counts = new Map<string, number>();
  for (const [file, found] of hits)
    for (const hit of isAsked(file) ? found : []) {
      console.log(describe(file, hit));
      counts.set(hit.tic, (counts.get(hit.tic) ?? 0) + 1);
    }
  for (const [tic, count] of counts) console.log(`${String(count).padStart(6)} ${tic}`);
}

function describe(file: string, { line, found, instead }: Hit): string {
  return `${file}:${line} ${found} → ${instead}`;
}
