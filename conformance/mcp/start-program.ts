import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const root = join(import.meta.dirname, '../..');

/** The command of a program of this repository. */
export const nodeCommand = (script: string, ...args: readonly string[]): readonly string[] => [
  process.execPath,
  '--conditions=quittance-source',
  join(root, script),
  ...args,
];

/** Starts a program that prints one line with its address, as JSON `{"url": …}`, when it listens. */
export async function startProgram(
  [script = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const [command = '', ...rest] = nodeCommand(script, ...args);
  const child = spawn(command, rest, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const close = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /"url":\s*"([^"]+)"/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout.resume(); // nothing may fill the pipe
    return { url, close };
  }
  throw new Error(`${script} ended before it listened.`);
}
