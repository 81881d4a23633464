/** Runs the command line within the process of the test: everything except the system around it. */
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runProgram } from '../packages/cli/src/program.ts';
import type { Ran } from './run-cli.ts';
import { withoutProgress } from './run-cli.ts';

/** A person at the terminal who types the word that each prompt names. */
export const confirming = (prompt: string): Promise<string | undefined> =>
  Promise.resolve(/Type (\S+) to confirm/.exec(prompt)?.[1]);

/** Runs in another folder take turns: a process is in one folder only. */
export async function runProgramHere(
  args: readonly string[],
  {
    cwd,
    env = {},
    readLine,
    readTyped,
  }: {
    readonly cwd?: string;
    readonly env?: Readonly<Record<string, string>>;
    /** The person at the terminal, if there is one. */
    readonly readLine?: (prompt: string) => Promise<string | undefined>;
    /** The same person, who confirms a decision. */
    readonly readTyped?: (prompt: string) => Promise<string | undefined>;
  } = {},
): Promise<Ran> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const before = process.cwd();
  const { TZ } = process.env;
  process.env['TZ'] = 'UTC';
  if (cwd !== undefined) process.chdir(cwd);
  try {
    const [code, out, err] = await Promise.all([
      runProgram({
        args,
        env,
        stdout,
        stderr,
        signal: new AbortController().signal,
        readLine,
        readTyped,
      }).finally(() => {
        stdout.end();
        stderr.end();
      }),
      text(stdout),
      text(stderr),
    ]);
    return { code, out, err: withoutProgress(err) };
  } finally {
    process.chdir(before);
    if (TZ === undefined) delete process.env['TZ'];
    else process.env['TZ'] = TZ;
  }
}
