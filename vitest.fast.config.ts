import { defineConfig } from 'vitest/config';
import { longest } from './test/longest-first.ts';
import config, { core } from './vitest.config.ts';

/** For daily work, `npm run test:fast`: the tests that need no browser and no framework, without the files that take long. */
export default defineConfig({
  test: {
    ...config.test,
    projects: [{ ...core, test: { ...core.test, exclude: [...core.test.exclude, ...longest] } }],
  },
});
