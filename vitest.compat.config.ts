import { defineConfig } from 'vitest/config';
import config, { common, resolve } from './vitest.config.ts';

/** The suites of the adapters, where `npm run compat` has put them. */
const { projects: _, ...test } = config.test ?? {};
export default defineConfig({
  resolve,
  ssr: { resolve },
  test: { ...test, ...common, include: ['test/frameworks/oldest/run/*.test.ts'] },
});
