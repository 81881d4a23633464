/** Does the sandboxed executor work on this machine? Tries it, and says why not and what to change. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isQuittanceError } from '../base/error.ts';
import { findEngine, runSandboxed } from './run-sandboxed.ts';
import { planTrial } from './plan.ts';

export type SandboxCheck =
  | { readonly works: true; readonly version: string; readonly startMs: number }
  | { readonly works: false; readonly problem: string; readonly remedy: string };

/** Runs `true` in a sandbox. Needs no contract and changes nothing. */
export async function checkSandbox(): Promise<SandboxCheck> {
  let engine: ReturnType<typeof findEngine>;
  try {
    engine = findEngine();
  } catch (error) {
    if (!isQuittanceError(error)) throw error;
    const [problem = '', ...remedy] = error.message.split(/(?<=\.) (?=Install|This is)/);
    return { works: false, problem, remedy: remedy.join(' ') };
  }
  const version = readVersion(engine.bubblewrap);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === 0 && minor < 8)
    return {
      works: false,
      problem: `bubblewrap ${version} cannot forbid nested user namespaces.`,
      remedy: 'Install bubblewrap 0.8.0 or newer (Debian 12, Ubuntu 24.04).',
    };
  const started = performance.now();
  try {
    const { exitCode, stderr } = await runSandboxed(engine, planTrial(), { words: ['true'] });
    if (exitCode === 0) return { works: true, version, startMs: performance.now() - started };
    return { works: false, ...explain(stderr) };
  } catch (error) {
    return { works: false, ...explain(error instanceof Error ? error.message : String(error)) };
  }
}

function readVersion(program: string): string {
  try {
    return /\d+\.\d+\.\d+/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[0] ?? '0.0.0';
  } catch {
    return '0.0.0';
  }
}

/** The settings of the kernel that keep a user from making namespaces, and how to change each. */
const settings: readonly (readonly [file: string, value: string, remedy: string])[] = [
  [
    '/proc/sys/kernel/unprivileged_userns_clone',
    '0',
    'Allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1',
  ],
  [
    '/proc/sys/user/max_user_namespaces',
    '0',
    'Allow user namespaces: sysctl -w user.max_user_namespaces=10000',
  ],
  [
    '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    '1',
    'Add an AppArmor profile for bwrap with the permission userns, or allow it for all programs: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  ],
];

function explain(message: string): { readonly problem: string; readonly remedy: string } {
  const problem = `bubblewrap is installed, but a trial run failed: ${message.trim()}`;
  if (/mount proc|\/proc/.test(message))
    return {
      problem,
      remedy:
        'A container hides parts of /proc, so no new /proc can be mounted. Start it with --security-opt systempaths=unconfined --security-opt seccomp=unconfined, or run the executor on the host.',
    };
  for (const [file, value, remedy] of settings) if (readSetting(file) === value) return { problem, remedy };
  return {
    problem,
    remedy: 'Try it by hand: bwrap --unshare-all --unshare-user --disable-userns --ro-bind / / true',
  };
}

function readSetting(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
