import { defineConfig, mergeConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** The suites of the adapters, where `npm run compat` has put them. */
export default mergeConfig(
  { ...config, test: { ...config.test, include: [], exclude: [] } },
  defineConfig({ test: { include: ['test/frameworks/oldest/run/*.test.ts'] } }),
);
