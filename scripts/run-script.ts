/**
 * Runs scripts of package.json so that everything they start can be ended. Each has its own process group and an
 * environment variable that every child inherits, because some tests start their own groups.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Counts } from '../test/closing-line.ts';
import { countsFileName } from '../test/closing-line.ts';

export type Ended = {
  readonly held: boolean;
  readonly ms: number;
  readonly output: string;
  /** The results of the tests, if the script ran tests. */
  readonly counts: Counts | undefined;
};

export type Runner = {
  /** Runs a script to its end. `output`: print it at once, or keep it for later. */
  readonly run: (
    script: string,
    output: 'shown' | 'kept',
    env?: Readonly<Record<string, string>>,
  ) => Promise<Ended>;
  /** Ends one script: sends a signal first, and kills the rest after some seconds. */
  readonly end: (script: string) => Promise<void>;
  readonly endAll: () => Promise<void>;
};

export function createRunner(): Runner {
  const name = 'QUITTANCE_TEST_CHECK';
  const runId = randomUUID();
  const groups = new Map<string, ChildProcess>();
  const isWindows = process.platform === 'win32';
  return {
    async run(script, output, env = {}) {
      const startedAt = performance.now();
      const folder = mkdtempSync(join(tmpdir(), 'quittance-check-'));
      const countsFile = join(folder, 'counts.json');
      const stream = output === 'shown' ? 'inherit' : 'pipe';
      const child = spawn('npm', ['run', '--silent', script], {
        stdio: ['ignore', stream, stream],
        env: { ...process.env, ...env, [name]: `${runId}/${script}`, [countsFileName]: countsFile },
        shell: isWindows,
        detached: !isWindows,
      });
      groups.set(script, child);
      let kept = '';
      for (const read of [child.stdout, child.stderr])
        read?.setEncoding('utf8').on('data', (piece: string) => (kept += piece));
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', reject);
        child.once('close', resolve);
      });
      groups.delete(script);
      const counts = readCounts(countsFile);
      rmSync(folder, { recursive: true, force: true });
      // The server of the PostgreSQL tests ends the process with code 0, whatever the tests found.
      const held = code === 0 && (counts?.failed ?? 0) === 0;
      return { held, ms: performance.now() - startedAt, output: kept, counts };
    },
    end: (script) =>
      endScripts(`${name}=${runId}/${script}`, () => [...groups].filter(([each]) => each === script)),
    endAll: () => endScripts(`${name}=${runId}/`, () => [...groups]),
  };

  /** Everything that the scripts started inherited the variable. A group may outlive its first process. */
  async function endScripts(
    variable: string,
    list: () => readonly (readonly [string, ChildProcess])[],
  ): Promise<void> {
    const pids = list().flatMap(([, { pid }]) => (pid === undefined ? [] : [isWindows ? pid : -pid]));
    for (const pid of pids) signal(pid, 'SIGINT');
    // They remove their temporary files meanwhile.
    for (let n = 0; n < 50 && list().length + processesWith(variable).length > 0; n++) await wait(100);
    for (const pid of [...pids, ...processesWith(variable)]) signal(pid, 'SIGKILL');
  }
}

function readCounts(file: string): Counts | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Counts; // written by the reporter
  } catch {
    return undefined; // The script ran no tests, or did not get to their end.
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** The processes that inherited the variable. Only available on Linux. */
function processesWith(variable: string): readonly number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(variable);
      } catch {
        return false; // It has ended, or belongs to another user.
      }
    });
}
