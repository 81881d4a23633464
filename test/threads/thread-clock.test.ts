/** On a machine whose other programs want all processors, a limit of time must not refuse a small request. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { availableParallelism, platform } from 'node:os';
import { createMemoryLedger } from 'quittance/ledger';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cpuMs } from '../cpu-time.ts';
import { BoundedReads } from '../../packages/server/src/http/bounded-reads.ts';
import { ContractThreads } from '../../packages/server/src/http/contract-threads.ts';
import { nameThisThread, startThreadClock } from '../../packages/quittance/src/threads/thread-clock.ts';

const timeMs = 300;
const programs: ChildProcess[] = [];

describe.skipIf(platform() !== 'linux')('while other programs want all processors', () => {
  beforeAll(() => {
    for (let n = 0; n < 4 * availableParallelism(); n++)
      programs.push(spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }));
  });
  afterAll(() => {
    for (const program of programs) program.kill('SIGKILL');
  });

  test('a reading that works for less than its limit is not refused', async () => {
    const limits = { callBytes: 1_000, totalBytes: 1_000, timeMs };
    const reads = new BoundedReads(createMemoryLedger(), limits);
    const [beganMs, cpuBefore] = [performance.now(), cpuMs()];
    const takenMs = (): number => performance.now() - beganMs;
    while (takenMs() < 2 * timeMs && cpuMs() - cpuBefore < timeMs / 2) await reads.pause();
    expect(takenMs()).toBeGreaterThan(timeMs);
  });

  test('work on contracts that takes less than its limit is not refused', async () => {
    // A processor that is shared takes up to twice its time for the same work, so the limit is far from both clocks.
    const threads = new ContractThreads({ timeMs: 1_000, memoryMb: 64 });
    const { signal } = new AbortController();
    const rule = (n: number): string =>
      `  - { id: r${n}, type: pre, tool: t${n}, when: { args.a: { matches: 'a+b${n}' } }, then: { action: block, message: No. } }\n`;
    const text = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: many }
defaults: { mode: enforce }
rules:
${Array.from({ length: 100 }, (_, n) => rule(n)).join('')}`;
    const order = { kind: 'check', documents: [{ name: 'a.yaml', text }], tools: [] } as const;
    expect(JSON.parse(await threads.run('caller', signal, order))).toMatchObject({ ok: true });
    await threads.close();
  });

  test('the clock of a thread that waits for a processor is slower than that of the wall', () => {
    const clocks = [startThreadClock(), startThreadClock(nameThisThread())];
    const until = performance.now() + timeMs;
    while (performance.now() < until);
    for (const takenMs of clocks) expect(takenMs()).toBeLessThan(0.9 * timeMs);
  });
});

test('if the system tells nothing, the clock is that of the wall', () => {
  const takenMs = startThreadClock('no such thread');
  const until = performance.now() + 20;
  while (performance.now() < until);
  expect(takenMs()).toBeGreaterThanOrEqual(20);
});
