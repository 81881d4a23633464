/**
 * Measures the bytes that each lane of the core benchmark allocates per call, garbage included. It runs in its own
 * process with a very large young generation. So no collection happens between two readings of the heap, and their
 * difference is what was allocated.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Lane } from './core-lanes.ts';
import { createLanes } from './core-lanes.ts';

const here = fileURLToPath(import.meta.url);
const warmUpCalls = 40_000;
const countedCalls = 10_000;

/** Bytes per call, by the name of the lane. */
export function measureBytesPerCall(): Readonly<Record<string, number>> {
  const child = spawnSync(
    process.execPath,
    [...process.execArgv, '--max-semi-space-size=1024', '--min-semi-space-size=512', here],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  );
  return JSON.parse(child.stdout) as Record<string, number>;
}

async function measure(lane: Lane, collectGarbage: () => void): Promise<number> {
  for (let n = 0; n < warmUpCalls; n++) await lane.call(n);
  const found: number[] = [];
  for (let run = 0; run < 5; run++) {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < countedCalls; n++) await lane.call(n);
    found.push((process.memoryUsage().heapUsed - before) / countedCalls);
  }
  return Math.round(found.toSorted((a, b) => a - b)[2] ?? 0);
}

async function main(): Promise<void> {
  setFlagsFromString('--expose_gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const bytes: Record<string, number> = {};
  for (const lane of createLanes()) bytes[lane.name] = await measure(lane, collectGarbage);
  process.stdout.write(JSON.stringify(bytes));
}

if (process.argv[1] === here) await main();
