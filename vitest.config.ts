import { defineConfig } from 'vitest/config';
import { ClosingLine } from './test/closing-line.ts';

export default defineConfig({
  resolve: { conditions: ['quittance-source'] },
  ssr: { resolve: { conditions: ['quittance-source'] } },
  test: {
    include: ['{src,test}/**/*.test.ts'],
    // What `npm run compat` copies there is run by that.
    exclude: ['**/node_modules/**', 'test/frameworks/oldest/**'],
    // Real processes and hostile inputs take their time on a busy machine.
    testTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    reporters: ['default', new ClosingLine()],
  },
});
