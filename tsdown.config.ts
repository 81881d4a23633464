import { defineConfig } from 'tsdown';
import manifest from './package.json' with { type: 'json' };

/** One bundle per door: package.json "exports" names both its source and the file it is built to. */
const doors = Object.values(manifest.exports).filter((door) => typeof door === 'object');
/** What runs in a page is built apart from what runs in Node: nothing of Node may come into it, not even by a chunk. */
const runsInPage = (door: (typeof doors)[number]): boolean =>
  door['quittance-source'].startsWith('./src/react/');
const nodeDoors = doors.filter((door) => !runsInPage(door));
const pageDoors = doors.filter(runsInPage);

const entriesOf = (some: typeof doors): Record<string, string> =>
  Object.fromEntries(
    some.map((door) => [door.default.replace(/^\.\/dist\/|\.js$/g, ''), door['quittance-source']]),
  );

/**
 * The package must stay small (scripts/package-weight.ts), so it ships short names and no source maps. Classes keep
 * their names: they are read in logs.
 */
const minify = {
  compress: { keepNames: { function: false, class: true } },
  mangle: { toplevel: true, keepNames: { function: false, class: true } },
  codegen: { removeWhitespace: true },
} as const;

/**
 * Nearly every door needs these folders, so each is one chunk. Many small chunks that import from each other weigh more.
 * Other folders stay split: a door should not load what it does not need.
 */
const wholeFolders = [
  { name: 'core', test: /src\/(?:base|call|tool)\//, minShareCount: 2 },
  { name: 'runtime', test: /src\/runtime\//, minShareCount: 2 },
] as const;

export default defineConfig([
  {
    entry: {
      ...entriesOf(nodeDoors),
      // What package.json "bin" names. It checks the version of Node before it loads the rest.
      cli: 'src/cli/main.ts',
      // These run in threads of their own, beside the bundle that starts them.
      'projector-thread': 'src/store/sqlite/projector-thread.ts',
      'writer-thread': 'src/store/sqlite/writer-thread.ts',
      'backtest-thread': 'src/cli/backtest-thread.ts',
      'job-thread': 'src/http/job-thread.ts',
      'reader-thread': 'src/http/reader-thread.ts',
      'document-thread': 'src/contracts/document-thread.ts',
      'contract-thread': 'src/http/contract-thread.ts',
      'export-thread': 'src/http/export-thread.ts',
    },
    format: 'esm',
    platform: 'node',
    target: 'node22',
    fixedExtension: false,
    minify,
    outputOptions: { codeSplitting: { groups: [...wholeFolders] } },
    tsconfig: 'tsconfig.src.json',
    dts: false,
  },
  {
    entry: entriesOf(pageDoors),
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    fixedExtension: false,
    minify,
    tsconfig: 'src/react/tsconfig.json',
    dts: false,
    // The door begins with 'use client' and is the only module of it that does, so it stays at the top.
    checks: { moduleLevelDirective: false },
  },
  {
    // The declarations of all doors together, so that the doors share them. Declarations hold no code of Node.
    entry: entriesOf(doors),
    format: 'esm',
    fixedExtension: false,
    tsconfig: 'src/react/tsconfig.json',
    dts: { emitDtsOnly: true },
    checks: { moduleLevelDirective: false },
  },
]);
