/**
 * How long recovery takes, what it needs, and how long calls of other sessions wait meanwhile. Processes leave calls open
 * in every state and are killed; then one process recovers them all. Its heap is bounded as in a small container:
 * without a bound V8 lets garbage lie as long as the machine has room. The table also shows the raw limit: reading
 * and writing the same entries with nothing but SQLite and JSON.parse. Ends with one line of JSON.
 *
 *   npm run recovery -- [--calls 1000,10000,100000]
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import type { RawLimit } from './raw-limit.ts';
import type { Recovered } from './recovered.ts';

const goal = { seconds: 15, peakMb: 300, waitMs: 100, calls: 100_000 };
/** How many calls one process leaves open: each of them is in its memory. */
const perProcess = 10_000;

const at = process.argv.indexOf('--calls');
const sizes = (at < 0 ? '1000,10000,100000' : (process.argv[at + 1] ?? '')).split(',').map(Number);
if (sizes.some((size) => !Number.isSafeInteger(size) || size < 1)) {
  process.stderr.write('--calls takes whole numbers above 0, e.g. --calls 1000,10000.\n');
  process.exit(2);
}

const heapBounds = ['--max-semi-space-size=8', '--max-old-space-size=160'];

/** A stopped process does not end with this one by itself. */
const living = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const child of living) child.kill('SIGKILL');
    process.exit(130);
  });

function start(name: string, args: readonly string[], flags: readonly string[] = []): ChildProcess {
  const child = fork(join(import.meta.dirname, name), [...args], {
    execArgv: ['--conditions=quittance-source', ...flags],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  living.add(child);
  child.once('exit', () => living.delete(child));
  return child;
}

/**
 * All of them live until the last is done: a process that finds another one gone would recover its calls. Those that are
 * done are stopped. A stopped process counts as alive, and costs the others nothing.
 */
async function leaveOpen(path: string, calls: number): Promise<void> {
  const progress = createProgress(`leaving ${calls} calls open`, calls);
  const children: ChildProcess[] = [];
  try {
    for (let first = 0; first < calls; first += perProcess) {
      const count = Math.min(perProcess, calls - first);
      const child = start('leave-open.ts', [path, String(first), String(count)]);
      children.push(child);
      const left = Promise.withResolvers<void>();
      child.once('message', () => left.resolve());
      child.once('exit', (code) => left.reject(new Error(`It ended with ${code} before it was killed.`)));
      await left.promise;
      child.kill('SIGSTOP');
      for (let made = 0; made < count; made++) progress.step();
    }
  } finally {
    for (const child of children) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
  }
  progress.done();
}

async function recover(path: string, calls: number): Promise<Recovered> {
  const progress = createProgress(`recovering ${calls} calls`, calls);
  let done = 0;
  const child = start('recover.ts', [path], heapBounds);
  const told = Promise.withResolvers<Recovered>();
  child.on('message', (message) => {
    const said = message as Recovered | { readonly type: 'progress'; readonly done: number };
    if (said.type === 'recovered') told.resolve(said);
    else for (; done < said.done; done++) progress.step();
  });
  child.once('exit', (code, signal) => told.reject(new Error(`It ended with ${signal ?? code}.`)));
  const recovered = await told.promise;
  progress.done();
  return recovered;
}

/** What reading and writing the same entries takes without any of our code, on this machine and at this moment. */
async function measureRaw(path: string, { entriesBefore, entriesAfter }: Recovered): Promise<RawLimit> {
  const child = start('raw.ts', [path, String(entriesBefore), String(entriesAfter)], heapBounds);
  const told = Promise.withResolvers<RawLimit>();
  child.once('message', (message) => told.resolve(message as RawLimit));
  child.once('exit', (code, signal) => told.reject(new Error(`It ended with ${signal ?? code}.`)));
  return told.promise;
}

const folder = mkdtempSync(join(tmpdir(), 'quittance-recovery-'));
const results: { readonly size: number; readonly recovered: Recovered; readonly raw: RawLimit }[] = [];
try {
  for (const size of sizes) {
    const path = join(folder, `${size}.db`);
    await leaveOpen(path, size);
    const recovered = await recover(path, size);
    results.push({ size, recovered, raw: await measureRaw(path, recovered) });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const number = (value: number, digits = 0): string => value.toFixed(digits);
printTable(
  [
    'open calls',
    'seconds',
    'CPU s',
    'main CPU s',
    'peak MB',
    'other calls',
    'longest wait ms',
    'loop delay ms',
    'raw s',
  ],
  results.map(({ size, recovered, raw }) => [
    String(size),
    number(recovered.seconds, 1),
    number(recovered.cpuSeconds, 1),
    number(recovered.mainCpuSeconds, 1),
    number(recovered.peakMb),
    String(recovered.otherCalls),
    number(recovered.longestWaitMs),
    number(recovered.longestDelayMs),
    number(raw.readSeconds + raw.writeSeconds, 1),
  ]),
);
const missed = results.filter(
  ({ size, recovered: { calls, seconds, peakMb, longestWaitMs } }) =>
    calls !== size || longestWaitMs > goal.waitMs || seconds > goal.seconds || peakMb > goal.peakMb,
);
process.stdout.write(
  `${JSON.stringify({ recovery: results.map(({ size, recovered, raw }) => ({ size, ...recovered, ...raw })), goal, met: missed.length === 0 })}\n`,
);
process.exitCode = missed.length === 0 ? 0 : 1;
