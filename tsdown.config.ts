/**
 * Builds every published package into its `dist`: `npm run build:package`.
 *
 * A package gets one entry for each door and for each program of a thread or a sandbox. A module that another package
 * imports as `NAME/internal/...` is an entry too. Entries share chunks, so that a program loads few files.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Rolldown, UserConfig } from 'tsdown';
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

/** The given modules and all that their static imports load. */
function loadedBy(paths: readonly string[], visit?: (path: string, to: string) => void): ReadonlySet<string> {
  const modules = new Set<string>(paths);
  for (const path of modules)
    for (const [, to = ''] of read(path).matchAll(/^(?:import|export)(?! type\b)[^;]*? from '([^']+)';$/gm)) {
      visit?.(path, to);
      const inner = /^quittance\/internal\/(.+)$/.exec(to)?.[1];
      if (inner !== undefined) modules.add(resolve(root, `packages/quittance/src/${inner}.ts`));
      else if (to.startsWith('.')) modules.add(resolve(dirname(path), to));
    }
  return modules;
}

const page = loadedBy(
  sources.filter((path) => path.startsWith('packages/react/')).map((path) => resolve(root, path)),
  (path, to) => {
    if (to.startsWith('node:')) throw new Error(`A page loads ${path}, which imports ${to}.`);
  },
);
const loadedByCore = (...modules: readonly string[]): ReadonlySet<string> =>
  loadedBy(modules.map((module) => resolve(root, `packages/quittance/src/${module}.ts`)));
const core = loadedByCore('index');
/** What doors and programs load that need no runtime. */
const light = loadedByCore('store/sqlite/writer-thread', 'events', 'wire');

/**
 * Many small chunks that import from each other take long to load. So `import 'quittance'` loads three chunks. Pages need
 * the first one too, so nothing of Node may come in. Light doors need the second, and the third is the rest. A group takes
 * what its modules import along, unless a group above has it.
 */
const groups = [
  { name: 'shared', test: (id: string) => page.has(id), priority: 4 },
  { name: 'base', test: (id: string) => core.has(id) && light.has(id), priority: 3 },
  { name: 'core', test: (id: string) => core.has(id), priority: 2 },
];

/** A module that starts a program names a file next to it. */
const startsProgram = /\bnew URL\(`\.\/|\btaskModule\('/;
const checkPrograms: Rolldown.Plugin = {
  name: 'check-programs',
  generateBundle(_, files) {
    for (const file of Object.values(files))
      if (file.type === 'chunk' && file.fileName.includes('/'))
        for (const id of file.moduleIds)
          if (id.startsWith(root) && startsProgram.test(read(id)))
            throw new Error(`${id} starts a program of dist and must not be in ${file.fileName}: group it.`);
  },
};

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
        plugins: [checkPrograms],
        // The declarations and the sources in the maps have the comments too.
        outputOptions: { codeSplitting: { groups }, comments: { jsdoc: false } },
        dts: false,
      },
      // The declarations of all doors together, so that the doors share them. Declarations hold no code of Node.
      ...(Object.keys(entries.doors).length === 0
        ? []
        : [{ ...common, cwd, entry: entries.doors, dts: { emitDtsOnly: true } }]),
    ];
  }),
);
