/**
 * Attacks the packed package: `npm run attack`. Packs it and unpacks the file into a temporary folder with links to
 * the installed dependencies (no network). Imports its public entry points from there and makes every attempt of
 * test/attacks. Prints a table and, as the last line, one JSON object. `--only <text>` runs the classes whose id
 * contains the text. Ctrl-C stops after the current attempt and prints what was found so far.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { families } from '../test/attacks/classes.ts';
import { mostRefused, runOrdinary, templates, type OrdinaryResult } from '../test/attacks/ordinary.ts';
import { runFamilies, type ClassResult, type PackageDoor } from '../test/attacks/run-classes.ts';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const root = join(import.meta.dirname, '..');
const stop = new AbortController();
process.on('SIGINT', () => stop.abort());
process.on('SIGTERM', () => stop.abort());

/** Creates a folder in which `quittance` can be imported as by a user. */
function installPacked(folder: string): void {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ readonly filename: string }];
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'quittance'), { recursive: true });
  execFileSync('tar', [
    '-xzf',
    join(folder, packed.filename),
    '--strip-components=1',
    '-C',
    join(modules, 'quittance'),
  ]);
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== 'quittance' && !name.startsWith('.'))
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
}

async function openDoor(folder: string): Promise<PackageDoor> {
  const entry = join(folder, 'door.mjs');
  writeFileSync(
    entry,
    ['', '/contracts', '/ledger', '/http', '/testing']
      .map((path) => `export * as ${path.slice(1) || 'quittance'} from 'quittance${path}';`)
      .join('\n'),
  );
  // The file exports exactly these names.
  return (await import(pathToFileURL(entry).href)) as PackageDoor;
}

const cell = (text: string | number, width: number): string =>
  typeof text === 'number' ? String(text).padStart(width) : text.padEnd(width);

function printRow({ id, tried, held, asked, title }: ClassResult): void {
  console.log([cell(id, 34), cell(tried, 6), cell(held, 6), cell(asked, 6), ` ${title}`].join(' '));
}

const folder = mkdtempSync(join(tmpdir(), 'quittance-packed-'));
const results: ClassResult[] = [];
const ordinary: OrdinaryResult[] = [];
try {
  console.log('Packing the package and unpacking it into a temporary folder…');
  installPacked(folder);
  const door = await openDoor(folder);
  const chosen = families.map((family) => ({
    ...family,
    classes: family.classes.filter(({ id }) => id.includes(values.only)),
  }));
  console.log([cell('class', 34), ' tried', '  held', ' asked', ' attempt'].join(' '));
  for await (const result of runFamilies(chosen, door, stop.signal)) {
    results.push(result);
    printRow(result);
    for (const name of result.through) console.log(`  THROUGH: ${name}`);
  }
  if (values.only === '') {
    console.log('\nOrdinary calls           calls refused   asked');
    for (const template of templates) {
      if (stop.signal.aborted) break;
      const noFolder = (): string => folder;
      const result = await runOrdinary(
        template,
        { ...door, newFolder: noFolder, onEnd: () => undefined },
        'runtime',
        stop.signal,
      );
      ordinary.push(result);
      const { calls, refused, asked } = result;
      console.log(
        [cell(template, 24), cell(calls, 5), cell(refused.length, 7), cell(asked.length, 7)].join(' '),
      );
      for (const line of refused) console.log(`  refused: ${line}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const sum = (read: (result: ClassResult) => number): number =>
  results.reduce((total, result) => total + read(result), 0);
const failed = results.filter(({ through }) => through.length > 0);
console.log(
  JSON.stringify({
    classes: results.length,
    classesHeld: results.length - failed.length,
    attempts: sum(({ tried }) => tried),
    held: sum(({ held }) => held),
    asked: sum(({ asked }) => asked),
    failed: failed.map(({ id }) => id),
    ordinary: ordinary.map(({ template, calls, refused, asked }) => ({
      template,
      calls,
      refused: refused.length,
      asked: asked.length,
    })),
    interrupted: stop.signal.aborted,
  }),
);
const tooStrict = ordinary.some(({ calls, refused }) => refused.length > mostRefused * calls);
process.exitCode = stop.signal.aborted ? 130 : failed.length > 0 || tooStrict || results.length === 0 ? 1 : 0;
