/** Runs the command line like a user: in its own process, from the source unless it was just built. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { evenPriority } from './even-priority-arguments.ts';
import { root } from './sources.ts';
import { isPackageBuilt, packageArguments } from './frameworks/suite/package-arguments.ts';

export type Ran = { readonly code: number | null; readonly out: string; readonly err: string };
export type Surroundings = {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly uid?: number;
  readonly gid?: number;
};

/** The program and its arguments, for what starts it by itself, e.g. a client of MCP. */
export const cliCommand = (...args: readonly string[]): readonly [command: string, ...args: string[]] => [
  process.execPath,
  ...evenPriority,
  ...packageArguments(),
  join(root, isPackageBuilt() ? 'packages/cli/dist/main.js' : 'packages/cli/src/main.ts'),
  ...args,
];

export function startCli(
  args: readonly string[],
  { cwd, env, uid, gid }: Surroundings = {},
): ChildProcessWithoutNullStreams {
  const { COLUMNS: _, QUITTANCE_LEDGER: __, ...inherited } = process.env;
  const [command, ...all] = cliCommand(...args);
  return spawn(command, all, {
    cwd: cwd ?? root,
    env: { ...inherited, NODE_NO_WARNINGS: '1', TZ: 'UTC', ...env },
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  });
}

export async function runCli(args: readonly string[], surroundings: Surroundings = {}): Promise<Ran> {
  const child = startCli(args, surroundings);
  child.stdin.end();
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, out, err: withoutProgress(err) };
}

/** A command that takes five seconds shows its progress, and on a busy machine any command may. */
export const withoutProgress = (text: string): string =>
  text.replaceAll(/^\w+: (?:\d+%|done in [\d.]+ s)\n/gm, '');
