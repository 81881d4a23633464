import { defineConfig } from 'tsdown';

export default defineConfig({
  // One entry per door of package.json "exports"; test/doors.test.ts holds the two lists together.
  entry: { index: 'src/index.ts', testing: 'src/testing/index.ts' },
  format: 'esm',
  platform: 'node',
  target: 'node22',
  fixedExtension: false,
  sourcemap: true,
  dts: true,
});
