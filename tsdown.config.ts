/**
 * Builds every published package into its `dist`: `npm run build:package`.
 *
 * A package gets one entry for each door and for each program of a thread or a sandbox. A module that another package
 * imports as `NAME/internal/...` is an entry too. Entries share chunks, so that a program loads few files.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { UserConfig } from 'tsdown';
import { defineConfig } from 'tsdown';
import type { Package } from './scripts/packages.ts';
import { readPackages } from './scripts/packages.ts';

const root = import.meta.dirname;
const read = (path: string): string => readFileSync(path, 'utf8');
const packages = readPackages().filter(({ isPrivate }) => !isPrivate);

/** Programs of their own: `new Worker` or a sandbox starts them, next to the chunk that names them. */
const programs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  quittance: {
    'writer-thread': 'store/sqlite/writer-thread',
    'work-thread': 'threads/work-thread',
    'document-task': 'contracts/document-task',
    'sandbox-files': 'sandbox/sandbox-files',
    'sandbox-relay': 'sandbox/sandbox-relay',
  },
  '@quittance/server': {
    'job-task': 'http/job-task',
    'reader-task': 'http/reader-task',
    'contract-task': 'http/contract-task',
    'export-task': 'http/export-task',
  },
  'create-quittance': { main: 'main' },
  '@quittance/cli': { 'backtest-task': 'commands/backtest-task' },
};

const sources = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).filter(
  (path) => !/\.test(?:-d)?\.tsx?$/.test(path),
);

/** What other packages import from each package, by its name. */
const internals = new Map<string, Set<string>>();
for (const path of sources)
  for (const [, name = '', module = ''] of read(join(root, path)).matchAll(
    /'((?:@quittance\/)?[a-z-]+)\/internal\/([\w/.-]+)'/g,
  ))
    internals.set(name, (internals.get(name) ?? new Set()).add(module));

type Entries = Readonly<Record<string, string>>;

function entriesOf({ folder, name, doors }: Package): {
  readonly doors: Entries;
  readonly programs: Entries;
} {
  const source = (module: string): string =>
    globSync(`src/${module}.{ts,tsx}`, { cwd: join(root, folder) })[0] ?? `src/${module}.ts`;
  const inner = [...(internals.get(name) ?? [])].map(
    (module) => [`internal/${module}`, source(module)] as const,
  );
  return {
    doors: Object.fromEntries([
      ...doors.map(({ built, source: path }) => [built, path.slice(folder.length + 1)] as const),
      ...inner,
    ]),
    programs: Object.fromEntries(
      Object.entries(programs[name] ?? {}).map(([built, module]) => [built, source(module)]),
    ),
  };
}

const react = resolve(root, 'packages/react');

/** Modules that a page loads: what the React package imports, and all that follows. */
const pageModules = new Set<string>();
const toFollow = sources
  .filter((path) => path.startsWith('packages/react/'))
  .map((path) => resolve(root, path));
for (const path of toFollow)
  for (const [, to = ''] of read(path).matchAll(/^(?:import|export)(?! type\b)[^;]*? from '([^']+)';$/gm)) {
    if (to.startsWith('node:')) throw new Error(`A page loads ${path}, which imports ${to}.`);
    const inner = /^quittance\/internal\/(.+)$/.exec(to)?.[1];
    const target =
      inner !== undefined
        ? resolve(root, `packages/quittance/src/${inner}.ts`)
        : to.startsWith('.')
          ? resolve(dirname(path), to)
          : undefined;
    if (target === undefined || pageModules.has(target)) continue;
    pageModules.add(target);
    toFollow.push(target);
  }

/** These name a file next to them, so their code must be in a chunk next to it and not in an entry below. */
const besideProgram = /\bnew URL\(`\.\/|\btaskModule\('/;

/**
 * Pages and Node share one chunk of what both need. Nothing of Node may come into it. Nearly every door needs the folders
 * below, so each is one chunk: many small chunks that import from each other take longer to load.
 */
const groups = [
  { name: 'shared', test: (id: string) => pageModules.has(id), priority: 2 },
  {
    name: 'programs',
    test: (id: string) => id.startsWith(join(root, 'packages')) && besideProgram.test(read(id)),
    priority: 1,
  },
  { name: 'core', test: /quittance\/src\/(?:base|call|tool)\//, minShareCount: 2 },
  { name: 'runtime', test: /quittance\/src\/runtime\//, minShareCount: 2 },
];

const common = {
  format: 'esm',
  fixedExtension: false,
  tsconfig: join(react, 'tsconfig.json'),
  // The React door begins with 'use client' and is the only module that does, so it stays at the top.
  checks: { moduleLevelDirective: false },
  deps: { neverBundle: [/^quittance(?:\/|$)/, /^@quittance\//] },
} satisfies UserConfig;

export default defineConfig(
  packages.flatMap((each) => {
    const entries = entriesOf(each);
    const cwd = join(root, each.folder);
    return [
      {
        ...common,
        cwd,
        entry: { ...entries.doors, ...entries.programs },
        platform: 'node' as const,
        // Pages are built with Node's code: what browsers have since 2023.
        target: ['node24.16', 'es2023'],
        // People read what they run: names and lines are those of the sources, and the maps hold the sources themselves.
        sourcemap: true,
        outputOptions: { codeSplitting: { groups } },
        dts: false,
      },
      // The declarations of all doors together, so that the doors share them. Declarations hold no code of Node.
      ...(Object.keys(entries.doors).length === 0
        ? []
        : [{ ...common, cwd, entry: entries.doors, dts: { emitDtsOnly: true } }]),
    ];
  }),
);
