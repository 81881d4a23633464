/**
 * The server of `effect-tools.ts` in a process of its own, over stdio. Its effects are lines in a file.
 * Run as: node effect-server.ts EFFECTS_FILE [legacy|modern] [--asks]
 */
import { appendFileSync } from 'node:fs';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createEffectServer } from './effect-tools.ts';

const [, , file = '', only] = process.argv;

serveStdio(
  ({ era }) => {
    if (only === 'legacy' && era === 'modern') process.exit(1); // as servers of older SDKs do
    return createEffectServer(era, {
      effect: (said) => appendFileSync(file, `${said}\n`),
      die: () => process.exit(1),
      asks: process.argv.includes('--asks'),
    });
  },
  { legacy: only === 'modern' ? 'reject' : 'serve' },
);
