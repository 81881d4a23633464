import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { ClosingLine } from './test/closing-line.ts';
import { evenPriority } from './test/even-priority-arguments.ts';
import { packageArguments, sourceArguments } from './test/frameworks/suite/package-arguments.ts';
import { LongestFirst } from './test/longest-first.ts';

// Workers and the many processes that tests start share compiled modules: half of what a process does is to load them.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compile');

export const resolve = { conditions: ['quittance-source'] };
export const common = {
  // On a busy machine everything takes long. These end a test that hangs, and never one that is slow.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000 } },
  execArgv: [...evenPriority],
};
/** Tests with frameworks, which are installed separately. */
const withFrameworks = 'test/frameworks/**/*.test.ts';
/** Tests that open the console or the site in a browser, or need the built console. */
const withBrowser = 'test/{console/**/{weight,*.browser},site/**/*}.test.ts';
/** Tests of components and of the console's modules, some of which only Vite can load. Some open a browser too. */
const withReact = 'test/{console/**/!(weight|*.browser),react/**/*}.test.ts';

/**
 * Node imports modules by itself, types stripped, as users of the sources do. Vite would transform each of them for
 * every worker, which takes a seventh of the time.
 */
const native = {
  execArgv: [...common.execArgv, ...sourceArguments],
  experimental: { viteModuleRunner: false, nodeLoader: false },
};

/** Each look at a page is work of three processes, so it is looked at less often than other things. */
const expectOfPages = { poll: { ...common.expect.poll, interval: 200 } };

/** Tests of the runtime, which need nothing but this repository. */
export const core = {
  resolve,
  ssr: { resolve },
  test: {
    ...common,
    ...native,
    name: 'core',
    include: ['{packages,test}/**/*.test.ts'],
    exclude: [
      '**/node_modules/**',
      'packages/quittance/templates/**',
      withFrameworks,
      withBrowser,
      withReact,
    ],
    setupFiles: ['test/fixed-seed.ts'],
    // No module has state of its own, so files can share a worker: half the time goes into loading otherwise.
    isolate: false,
  },
};

export default defineConfig({
  test: {
    // More than there are cores: browsers, processes and timers are waited for a good part of the time.
    maxWorkers: availableParallelism() + 4,
    reporters: ['default', new ClosingLine()],
    teardownTimeout: 60_000,
    globalSetup: ['test/temp-folder.ts', 'test/postgres/serve-postgres.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      core,
      {
        resolve,
        ssr: { resolve },
        test: {
          ...common,
          ...native,
          name: 'browser',
          expect: expectOfPages,
          include: [withBrowser],
          globalSetup: 'test/console/build.ts',
          // As in core. Each file has its own browser.
          isolate: false,
        },
      },
      {
        resolve,
        ssr: { resolve },
        test: {
          ...common,
          name: 'react',
          expect: expectOfPages,
          include: [withReact],
          setupFiles: ['test/fixed-seed.ts'],
          globalSetup: 'test/console/build.ts',
          isolate: false,
        },
      },
      {
        resolve,
        ssr: { resolve },
        test: {
          ...common,
          ...native,
          // They know the package only by its name, as its users do.
          execArgv: [...common.execArgv, ...packageArguments()],
          name: 'frameworks',
          setupFiles: ['test/restore-process.ts', 'test/await-frameworks.ts'],
          include: [withFrameworks],
          // What `npm run compat` copies there is run by that.
          exclude: ['**/node_modules/**', 'test/frameworks/oldest/**'],
          // To load the frameworks for each file takes a third of the time. An application has several of them in its
          // process too. The examples start each of them alone in a process.
          isolate: false,
        },
      },
    ],
  },
});
