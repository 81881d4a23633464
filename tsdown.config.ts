import { defineConfig } from 'tsdown';
import manifest from './package.json' with { type: 'json' };

/** One bundle per door: package.json "exports" names both its source and the file it is built to. */
const doors = Object.values(manifest.exports).filter((door) => typeof door === 'object');

export default defineConfig({
  entry: {
    ...Object.fromEntries(
      doors.map((door) => [door.default.replace(/^\.\/dist\/|\.js$/g, ''), door['quittance-source']]),
    ),
    // What package.json "bin" names. It checks the version of Node before it loads the rest.
    cli: 'src/cli/main.ts',
    // These run in threads of their own, beside the bundle that starts them.
    'projector-thread': 'src/store/sqlite/projector-thread.ts',
    'backtest-thread': 'src/cli/backtest-thread.ts',
  },
  format: 'esm',
  platform: 'node',
  target: 'node22',
  fixedExtension: false,
  sourcemap: true,
  tsconfig: 'tsconfig.src.json',
  dts: { sourcemap: true, entry: doors.map((door) => door['quittance-source'].replace('./', '')) },
});
