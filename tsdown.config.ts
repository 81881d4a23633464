import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { defineConfig } from 'tsdown';
import manifest from './package.json' with { type: 'json' };

/** One bundle per door: package.json "exports" names both its source and the file it is built to. */
const doors = Object.values(manifest.exports).filter((door) => typeof door === 'object');
const sourceOf = (door: (typeof doors)[number]): string =>
  resolve(import.meta.dirname, door['quittance-source']);
const reactFolder = resolve(import.meta.dirname, 'packages/react/src');

const entriesOf = (some: typeof doors): Record<string, string> =>
  Object.fromEntries(
    some.map((door) => [door.default.replace(/^\.\/dist\/|\.js$/g, ''), door['quittance-source']]),
  );

/** Every module that a page loads. */
const pageModules = findModules(doors.map(sourceOf).filter((path) => path.startsWith(reactFolder)));

/** The modules themselves and all that they import. Throws if one of them needs Node. */
function findModules(from: readonly string[]): ReadonlySet<string> {
  const found = new Set(from);
  for (const path of found)
    for (const [, to = ''] of readFileSync(path, 'utf8').matchAll(
      /^(?:import|export)(?! type\b)[^;]*? from '([^']+)';$/gm,
    ))
      if (to.startsWith('node:')) throw new Error(`A page loads ${path}, which imports ${to}.`);
      else if (to.startsWith('.')) found.add(resolve(dirname(path), to));
  return found;
}

/**
 * Pages and Node share one chunk of what both need, instead of a copy each. Nothing of Node may come into it.
 *
 * Nearly every door needs the folders below, so each is one chunk. Many small chunks that import from each other weigh
 * more. Other folders stay split: a door should not load what it does not need.
 */
const chunks = [
  {
    name: 'shared',
    test: (id: string) => pageModules.has(id) && !id.startsWith(reactFolder),
    priority: 1,
  },
  { name: 'core', test: /src\/(?:base|call|tool)\//, minShareCount: 2 },
  { name: 'runtime', test: /src\/runtime\//, minShareCount: 2 },
] as const;

export default defineConfig([
  {
    entry: {
      ...entriesOf(doors),
      // What package.json "bin" names. It checks the version of Node before it loads the rest.
      cli: 'packages/cli/src/main.ts',
      // These run in threads of their own, beside the bundle that starts them.
      'writer-thread': 'packages/quittance/src/store/sqlite/writer-thread.ts',
      'work-thread': 'packages/quittance/src/threads/work-thread.ts',
      // The work thread imports these.
      'backtest-task': 'packages/cli/src/commands/backtest-task.ts',
      'job-task': 'packages/server/src/http/job-task.ts',
      'reader-task': 'packages/server/src/http/reader-task.ts',
      'document-task': 'packages/quittance/src/contracts/document-task.ts',
      'contract-task': 'packages/server/src/http/contract-task.ts',
      'export-task': 'packages/server/src/http/export-task.ts',
      // These run inside a sandbox, each as a single file.
      'sandbox-files': 'packages/quittance/src/sandbox/sandbox-files.ts',
      'sandbox-relay': 'packages/quittance/src/sandbox/sandbox-relay.ts',
    },
    format: 'esm',
    platform: 'node',
    // Pages are built with Node's code: what browsers have since 2023.
    target: ['node24.16', 'es2023'],
    fixedExtension: false,
    // People read what they run: names and lines are those of the sources, and the maps hold the sources themselves.
    sourcemap: true,
    outputOptions: { codeSplitting: { groups: [...chunks] } },
    tsconfig: 'packages/react/tsconfig.json',
    dts: false,
    // The React door begins with 'use client' and is the only module that does, so it stays at the top.
    checks: { moduleLevelDirective: false },
  },
  {
    // The declarations of all doors together, so that the doors share them. Declarations hold no code of Node.
    entry: entriesOf(doors),
    format: 'esm',
    fixedExtension: false,
    tsconfig: 'packages/react/tsconfig.json',
    dts: { emitDtsOnly: true },
    checks: { moduleLevelDirective: false },
  },
]);
