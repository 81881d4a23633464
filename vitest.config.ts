import { defineConfig } from 'vitest/config';
import { ClosingLine } from './test/closing-line.ts';

export default defineConfig({
  resolve: { conditions: ['quittance-source'] },
  ssr: { resolve: { conditions: ['quittance-source'] } },
  test: {
    include: ['{src,test}/**/*.test.ts'],
    reporters: ['default', new ClosingLine()],
  },
});
