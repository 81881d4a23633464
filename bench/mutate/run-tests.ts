/** Runs test files in a scratch copy, in a process of its own that can be ended with everything it started. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type Plan = {
  readonly tests: readonly string[];
  /** Where the result is written. */
  readonly result: string;
  /** Where probes write; undefined where the source has none. */
  readonly log: string | undefined;
  /** Does the run go on after a failure? */
  readonly all: boolean;
};

export type TestRun = {
  readonly passed: boolean;
  readonly files: readonly {
    readonly test: string;
    readonly ms: number;
    readonly failure: { readonly title: string; readonly message: string } | undefined;
  }[];
  readonly unhandled: string | undefined;
};

/** Undefined where the run did not end in time or left no result. */
export async function runTests(
  root: string,
  {
    tests,
    log,
    timeoutMs,
    all = false,
    running,
  }: {
    readonly tests: readonly string[];
    readonly log?: string;
    readonly timeoutMs: number;
    readonly all?: boolean;
    /** Told of the process while it runs, so that it can be ended with this one. */
    readonly running?: Set<number>;
  },
): Promise<TestRun | 'timeout' | { readonly broken: string }> {
  const plan: Plan = { tests, log, all, result: join(root, 'mutate-result.json') };
  const planFile = join(root, 'mutate-plan.json');
  writeFileSync(planFile, JSON.stringify(plan));
  rmSync(plan.result, { force: true });
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--config',
      'bench/mutate/vitest.config.ts',
      '--root',
      root,
    ],
    {
      cwd: root,
      env: { ...process.env, QUITTANCE_MUTATE_PLAN: planFile, NODE_NO_WARNINGS: '1', CI: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      said = (said + data.toString()).slice(-4_000);
    });
  const endAll = (): void => endGroup(child.pid);
  if (child.pid !== undefined) running?.add(child.pid);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    endAll();
  }, timeoutMs);
  await new Promise((resolve) => {
    child.once('close', resolve);
    // A process that a test left behind may keep the pipes open.
    child.once('exit', () => setTimeout(resolve, 1_000));
  });
  clearTimeout(timer);
  endAll();
  if (child.pid !== undefined) running?.delete(child.pid);
  if (late) return 'timeout';
  if (!existsSync(plan.result)) return { broken: said.trim().slice(-500) };
  return JSON.parse(readFileSync(plan.result, 'utf8')) as TestRun;
}

/** Ends a process with everything it started. */
export function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
