/**
 * Measures the speed of a replay: the same calls live and played, in one run on the same machine, so that the ratio
 * is meaningful. On a ledger in memory and on disk, by key and in order.
 *
 *   npm run bench:replay -- [--calls 20000]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { readCassette, recordCassette, recordedTools, writeCassette } from 'quittance/testing';
import { z } from 'zod';
import { printTable } from './table.ts';

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const calls = Number(option('calls') ?? 20_000);
const lanes = 32;

let ran = 0;
const tools: readonly AnyTool[] = [
  defineTool({
    name: 'send_mail',
    mode: 'external',
    loopLimit: 1e9,
    input: z.object({ city: z.string(), days: z.number() }),
    run: async ({ city, days }) => {
      ran++;
      return { city, days, ok: true };
    },
  }),
];

async function drive(made: readonly AnyTool[], ledger: OpenLedger, sessionId: string): Promise<number> {
  const runtime = createRuntime({ tools: made, ledger });
  const turn = runtime.turn({ sessionId });
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < calls) {
      const days = next++;
      const outcome = await turn.call({
        id: `c${days}`,
        name: 'send_mail',
        arguments: { city: 'Lyon', days },
      });
      if (outcome.type !== 'ToolExecutionResult') throw new Error(JSON.stringify(outcome));
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: lanes }, lane));
  const seconds = (performance.now() - startedAt) / 1_000;
  await runtime.close();
  return calls / seconds;
}

const folder = mkdtempSync(join(tmpdir(), 'quittance-replay-'));
try {
  // Once as a warm-up, so that the first lane does not pay for it.
  await drive(tools, createMemoryLedger(), 'warm');
  const recording = createMemoryLedger();
  const live = await drive(tools, recording, 's');
  const disk = await openLedger(join(folder, 'ledger.db'));
  const liveOnDisk = await drive(tools, disk, 'live');

  const takenAt = performance.now();
  const text = writeCassette(await recordCassette(recording, { sessionId: 's' }));
  const takenMs = performance.now() - takenAt;
  const readAt = performance.now();
  const cassette = readCassette(text);
  const readMs = performance.now() - readAt;

  const before = ran;
  const play = async (mode: 'loose' | 'strict', ledger: OpenLedger, sessionId: string): Promise<number> => {
    const recorded = recordedTools(cassette, tools, { mode });
    const rate = await drive(recorded.tools, ledger, sessionId);
    recorded.assertConsumed();
    return rate;
  };
  const loose = await play('loose', createMemoryLedger(), 's');
  const strict = await play('strict', createMemoryLedger(), 's');
  const looseOnDisk = await play('loose', disk, 'played');
  await disk.close();
  if (ran !== before) throw new Error('A tool ran in a replay.');

  const rows: readonly (readonly [string, number, number])[] = [
    ['live, in memory', live, live],
    ['played by key, in memory', loose, live],
    ['played in order, in memory', strict, live],
    ['live, on disk', liveOnDisk, liveOnDisk],
    ['played by key, on disk', looseOnDisk, liveOnDisk],
  ];
  printTable(
    [`${calls} calls, ${lanes} at a time`, 'calls/s', 'of live'],
    rows.map(([name, rate, base]) => [name, Math.round(rate).toString(), (rate / base).toFixed(2)]),
  );
  process.stdout.write(
    `The cassette: ${(text.length / 1e6).toFixed(1)} MB, recorded in ${Math.round(takenMs)} ms, read in ${Math.round(readMs)} ms.\n`,
  );
  process.stdout.write(
    `${JSON.stringify({
      bench: 'replay',
      calls,
      live_per_s: Math.round(live),
      replay_per_s: Math.round(loose),
      replay_ratio: Number((loose / live).toFixed(2)),
      replay_strict_ratio: Number((strict / live).toFixed(2)),
      live_disk_per_s: Math.round(liveOnDisk),
      replay_disk_ratio: Number((looseOnDisk / liveOnDisk).toFixed(2)),
    })}\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
