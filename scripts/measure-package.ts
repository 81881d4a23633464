/**
 * Packs every built package without publishing it, prints its size and checks it: its files, its manifest (publint) and
 * its declarations (attw). Part of `npm run package`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { findContentProblems, type PackedPackage } from './package-content.ts';
import { readPackages } from './packages.ts';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'quittance-packed-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const listing = execFileSync(
  'npm',
  ['pack', '--workspaces', '--json', '--ignore-scripts', '--pack-destination', folder],
  { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
);
const packed = new Map(
  Object.values(JSON.parse(listing) as readonly PackedPackage[]).map((each) => [each.name, each]),
); // documented by npm

/** Of attw: packages here are ES modules only, and style sheets and schemas have no types. */
const expected = new Set(['CJSResolvesToESM', 'NoResolution']);
const problems: string[] = [];
for (const each of readPackages()) {
  if (each.isPrivate) continue;
  const files = packed.get(each.name);
  if (files === undefined) throw new Error(`npm did not pack ${each.name}.`);
  console.log(
    `${each.name.padEnd(26)}${String(files.size).padStart(9)} bytes packed${String(files.unpackedSize).padStart(10)} unpacked${String(files.files.length).padStart(5)} files`,
  );
  const found = [...findContentProblems(each, files)];
  const { messages, pkg } = await publint({ pkgDir: join(root, each.folder), strict: true, pack: false });
  found.push(...messages.map((message) => formatMessage(message, pkg) ?? message.code));
  const tarball = createPackageFromTarballData(new Uint8Array(readFileSync(join(folder, files.filename))));
  const checked = await checkPackage(tarball, { excludeEntrypoints: [/\.css$|\.json$/] });
  if (checked.types !== false)
    for (const problem of checked.problems)
      if (
        !expected.has(problem.kind) &&
        (!('resolutionKind' in problem) || problem.resolutionKind === 'node16-esm')
      )
        found.push(`types: ${JSON.stringify(problem)}`);
  problems.push(...found.map((problem) => `${each.name}: ${problem}`));
}
if (problems.length > 0) {
  console.error(['The packages must not be published in this state.', ...problems.slice(0, 30)].join('\n  '));
  process.exitCode = 1;
}
