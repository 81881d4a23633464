/** Runs the command line at a real terminal, with a person who types. Needs `script` of util-linux. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Ran } from './run-cli.ts';
import { cliCommand } from './run-cli.ts';

/** A word for a shell. */
export const quoteWord = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** `answer` gets the word of the prompt, and returns what the person types. */
export async function sitAtTerminal(
  args: readonly string[],
  answer: (word: string) => string,
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const command = cliCommand(...args).map(quoteWord);
  const child = spawn('script', ['-qec', command.join(' '), '/dev/null'], {
    env: { ...process.env, NODE_NO_WARNINGS: '1', TERM: 'dumb', ...env },
  });
  let out = '';
  let isAnswered = false;
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
    const word = /Type\s+(\S+)\s+to\s+confirm: /.exec(out)?.[1];
    if (word === undefined || isAnswered) return;
    isAnswered = true;
    child.stdin.write(`${answer(word)}\n`);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err: '' };
}
