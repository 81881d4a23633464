/** Runs test files in a scratch copy, in a separate process that can be ended with everything it started. */
import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

export type Plan = {
  readonly tests: readonly string[];
  /** Where the result is written. */
  readonly result: string;
  /** The probes' output file; undefined if the source has no probes. */
  readonly log: string | undefined;
  /** Does the run continue after a failure? */
  readonly all: boolean;
};

export type TestRun = {
  readonly passed: boolean;
  readonly files: readonly {
    readonly test: string;
    readonly ms: number;
    readonly failure: { readonly title: string; readonly message: string; readonly ms: number } | undefined;
  }[];
  readonly unhandled: { readonly test: string | undefined; readonly message: string } | undefined;
};

/** The run left no result: it was silent for too long and was ended, or its process died. */
export type Stopped = {
  readonly stopped: 'silent' | 'died';
  /** The test file that was running, if one had started. */
  readonly test: string | undefined;
  readonly said: string;
};

/** Marks the name of a starting test file in the output of a run. */
export const beginsWith = '@begins ';

export async function runTests(
  root: string,
  {
    tests,
    log,
    silentMs,
    all = false,
    running,
  }: {
    readonly tests: readonly string[];
    readonly log?: string;
    /** Maximum duration of one test file. Code that never yields the thread cannot time out by itself. */
    readonly silentMs: number;
    readonly all?: boolean;
    /** Receives the process while it runs, so that it can be ended with this one. */
    readonly running?: Set<number>;
  },
): Promise<TestRun | Stopped> {
  const plan: Plan = { tests, log, all, result: join(root, 'mutate-result.json') };
  const planFile = join(root, 'mutate-plan.json');
  writeFileSync(planFile, JSON.stringify(plan));
  rmSync(plan.result, { force: true });
  const child = startVitest(root, planFile);
  const endAll = (): void => endGroup(child.pid);
  let late = false;
  const giveUp = (): void => {
    late = true;
    endAll();
  };
  let timer = setTimeout(giveUp, silentMs);
  let said = '';
  let test: string | undefined;
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      said = (said + data.toString()).slice(-4_000);
      const begun = said
        .match(new RegExp(`^${beginsWith}.+$`, 'gm'))
        ?.at(-1)
        ?.slice(beginsWith.length);
      if (begun === undefined || begun === test) return;
      test = begun;
      clearTimeout(timer);
      timer = setTimeout(giveUp, silentMs);
    });
  if (child.pid !== undefined) running?.add(child.pid);
  await new Promise((resolve) => {
    child.once('close', resolve);
    // A leftover process of a test may keep the pipes open.
    child.once('exit', () => setTimeout(resolve, 1_000));
  });
  clearTimeout(timer);
  endAll();
  endStrays(root);
  if (child.pid !== undefined) running?.delete(child.pid);
  if (late || !existsSync(plan.result))
    return { stopped: late ? 'silent' : 'died', test, said: said.trim().slice(-500) };
  return JSON.parse(readFileSync(plan.result, 'utf8')) as TestRun;
}

function startVitest(root: string, planFile: string): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(
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
      env: {
        ...process.env,
        QUITTANCE_MUTATE_PLAN: planFile,
        NODE_NO_WARNINGS: '1',
        CI: '1',
        // Many tests start processes, which mostly load modules; the cache halves that time.
        NODE_COMPILE_CACHE: join(root, 'mutate-compiled'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
}

/** Ends a process with everything it started. */
export function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

/** Ends processes that tests started in their own groups from files of the copy: mutated code may run forever. */
function endStrays(root: string): void {
  if (!existsSync('/proc/self/cmdline')) return;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${root}/`))
        process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended.
    }
}
