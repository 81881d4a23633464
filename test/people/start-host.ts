/** Starts a host that holds a refund, with the shell tool of its agent. It ends with the test. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { packageArguments } from '../frameworks/suite/package-arguments.ts';
import type { Ran } from '../run-cli.ts';

export type Host = {
  readonly pid: number;
  /** Runs a command in the shell of the host. */
  readonly run: (command: string) => Promise<Ran>;
};

export async function startHost(url: string, env: Readonly<Record<string, string>> = {}): Promise<Host> {
  const script = join(import.meta.dirname, 'shell-host.ts');
  const child = spawn(process.execPath, [...packageArguments(), script, url], {
    env: { ...process.env, NODE_NO_WARNINGS: '1', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value));
  const { pid } = (await next()) as { readonly pid: number };
  return {
    pid,
    async run(command) {
      child.stdin.write(`${command.replaceAll('\n', ' ')}\n`);
      return (await next()) as Ran;
    },
  };
}
