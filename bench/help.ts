/**
 * Loaded before every command of this folder. `--help` prints the comment at the top of the command: its purpose and its
 * options. An unknown option ends with its name and a hint, not with a stack trace.
 */
import { readFileSync } from 'node:fs';

const main = process.argv[1] ?? '';

if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
  const comment = /^\/\*\*([^]*?)\*\//.exec(readFileSync(main, 'utf8'))?.[1] ?? '';
  process.stdout.write(`${comment.replaceAll(/^[ \t]*\* ?/gm, '').trim()}\n`);
  process.exit(0);
}

process.once('uncaughtException', (error) => {
  if (!('code' in error) || !String(error.code).startsWith('ERR_PARSE_ARGS')) throw error;
  process.stderr.write(`${error.message}\nOptions: --help\n`);
  process.exit(2);
});
