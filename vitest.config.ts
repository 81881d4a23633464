import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { ClosingLine } from './test/closing-line.ts';
import { evenPriority } from './test/even-priority-arguments.ts';
import { LongestFirst } from './test/longest-first.ts';

// Workers and the many processes that tests start share compiled modules: half of what a process does is to load them.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compile');

export const resolve = { conditions: ['quittance-source'] };
export const common = {
  // On a busy machine everything takes long. These end a test that hangs, and never one that is slow.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000 } },
  execArgv: [...evenPriority],
};
/** Tests with frameworks, which keep things in their process that others must not find. */
const withFrameworks = 'test/frameworks/**/*.test.ts';
/** Tests that open the console, the components or the site in a browser. */
const withBrowser = 'test/{console,react,site}/**/*.test.ts';

/** Tests of the runtime, which need nothing but this repository. */
export const core = {
  resolve,
  ssr: { resolve },
  test: {
    ...common,
    name: 'core',
    include: ['{src,test}/**/*.test.ts'],
    exclude: ['**/node_modules/**', withFrameworks, withBrowser],
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
          name: 'browser',
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
          name: 'frameworks',
          include: [withFrameworks],
          // What `npm run compat` copies there is run by that.
          exclude: ['**/node_modules/**', 'test/frameworks/oldest/**'],
        },
      },
    ],
  },
});
