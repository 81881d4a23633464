import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { ClosingLine } from './test/closing-line.ts';

const resolve = { conditions: ['quittance-source'] };
const common = {
  // Real processes and hostile inputs take their time on a busy machine.
  testTimeout: 60_000,
  expect: { poll: { timeout: 15_000 } },
};
/** Tests with frameworks and browsers, which keep things in their process that others must not find. */
const withParts = 'test/{frameworks,console,react}/**/*.test.ts';

export default defineConfig({
  test: {
    // One more than there are cores: browsers, processes and timers are waited for a good part of the time.
    maxWorkers: availableParallelism() + 1,
    reporters: ['default', new ClosingLine()],
    projects: [
      {
        resolve,
        ssr: { resolve },
        test: {
          ...common,
          name: 'core',
          include: ['{src,test}/**/*.test.ts'],
          exclude: ['**/node_modules/**', withParts],
          // No module has state of its own, so files can share a worker: half the time goes into loading otherwise.
          isolate: false,
        },
      },
      {
        resolve,
        ssr: { resolve },
        test: {
          ...common,
          name: 'parts',
          include: [withParts],
          // What `npm run compat` copies there is run by that.
          exclude: ['**/node_modules/**', 'test/frameworks/oldest/**'],
          globalSetup: 'test/console/build.ts',
        },
      },
    ],
  },
});
