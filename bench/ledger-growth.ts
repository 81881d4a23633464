/**
 * Measures whether a ledger slows down as it grows: durable calls, point look-ups and queries at 0, 100,000 and
 * 1,000,000 calls.
 *
 *   npm run bench:growth -- [--calls 1000000]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

const asked = process.argv.indexOf('--calls');
const most = asked < 0 ? 1_000_000 : Number(process.argv[asked + 1]);
const sizes = [0, most / 10, most];
const inFlights = [1, 32, 256] as const;
const sessions = 1_000;

const input = z.object({ city: z.string(), days: z.number() });
const send = defineTool({
  name: 'send_mail',
  input,
  mode: 'external',
  loopLimit: 1e9,
  run: async ({ city }) => ({ city, ok: true }),
});
/** Fails now and then. It may run again: otherwise every later call of the session would need approval. */
const look = defineTool({
  name: 'look_up',
  input,
  mode: 'read',
  loopLimit: 1e9,
  run: async () => {
    throw new Error('There is no such place.');
  },
});
const tools = [send, look] as const;

const folder = mkdtempSync(join(tmpdir(), 'quittance-growth-'));
const path = join(folder, 'ledger.db');
let made = 0;

/** This many calls, spread over many sessions, some of them failures. Returns the duration of each. */
async function makeCalls(
  runtime: Runtime<typeof tools>,
  count: number,
  lanes: number,
  step?: (n: number) => void,
): Promise<number[]> {
  const took: number[] = [];
  let left = count;
  const lane = async (_: unknown, n: number): Promise<void> => {
    for (let turns = 0; left > 0; turns++) {
      const turn = runtime.turn({ sessionId: `session-${(n + turns * lanes) % sessions}` });
      for (let calls = 0; calls < 20 && left > 0; calls++) {
        left--;
        const id = `call_${made++}`;
        const name = made % 50 === 0 ? 'look_up' : 'send_mail';
        const beganMs = performance.now();
        await turn.call({ id, name, arguments: { city: 'Lyon', days: made } });
        took.push(performance.now() - beganMs);
        step?.(1);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return took;
}

const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? 0;

async function time(count: number, ask: (n: number) => unknown): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < count; n++) {
    const beganMs = performance.now();
    await ask(n);
    took.push(performance.now() - beganMs);
  }
  return quantile(took, 0.5);
}

const columns: (readonly [string, number])[][] = [];
const figures: Record<string, number> = {};
for (const size of sizes) {
  // Filled without waiting for the disk; the measured part waits.
  const fill = await openLedger(path, { synchronous: 'normal' });
  const progress = createProgress(`filling to ${size}`, size - made);
  const filler = createRuntime({ tools, ledger: fill });
  if (size > made) await makeCalls(filler, size - made, 256, (n) => progress.step(n));
  await filler.close();
  progress.done();
  const filledMs = performance.now();
  await fill.queries.findCalls({ limit: 1 });
  const caughtUpMs = performance.now() - filledMs;
  await fill.close();

  const openedMs = performance.now();
  const ledger = await openLedger(path);
  const openMs = performance.now() - openedMs;
  await ledger.queries.findCalls({ limit: 1 });
  const findMs = performance.now();
  await ledger.queries.findOpenCalls();
  const openCallsMs = performance.now() - findMs;
  const runtime = createRuntime({ tools, ledger });
  await makeCalls(runtime, 4_000, 256); // warm-up
  const durable: [string, number][] = [];
  for (const inFlight of inFlights) {
    const count = inFlight === 1 ? 1_000 : 12_000;
    const beganMs = performance.now();
    const took = await makeCalls(runtime, count, inFlight);
    durable.push(
      [`calls/s at ${inFlight}`, count / ((performance.now() - beganMs) / 1_000)],
      [`p50 ms at ${inFlight}`, quantile(took, 0.5)],
      [`p99 ms at ${inFlight}`, quantile(took, 0.99)],
    );
  }
  await ledger.queries.findCalls({ limit: 1 });
  const some = (n: number): string => `call_${Math.floor((n * 7_919) % Math.max(1, made))}`;
  const results: [string, number][] = [
    ...durable,
    ['open ms', openMs],
    ['open calls ms', openCallsMs],
    [
      'call by id ms',
      await time(300, async (n) => ledger.journal.readCall(`session-${n % sessions}`, some(n))),
    ],
    [
      'unsettled ms',
      await time(300, async (n) => ledger.claims.findUnsettledEffects(`session-${n}`, 'send_mail', 'x')),
    ],
    ['newest ms', await time(30, async () => ledger.queries.findCalls({}))],
    ['of a session ms', await time(30, async (n) => ledger.queries.findCalls({ sessionId: `session-${n}` }))],
    ['failures ms', await time(30, async () => ledger.queries.findCalls({ outcome: 'ToolFailure' }))],
    ['text, none ms', await time(2, async () => ledger.queries.findCalls({ text: 'no such thing' }))],
    ['sessions ms', await time(30, async () => ledger.queries.findSessions({}))],
    ['caught up ms', caughtUpMs],
    ['bytes/call', made === 0 ? 0 : statSync(path).size / made],
  ];
  for (const [name, value] of results)
    figures[`${name.replaceAll(/[ ,/]+/g, '_')}_${size}`] = Number(value.toFixed(3));
  columns.push(results);
  await runtime.close();
  await ledger.close();
}

printTable(
  ['calls in the ledger', ...sizes.map(String)],
  (columns[0] ?? []).map(([name], row) => [
    name,
    ...columns.map((column) => {
      const value = column[row]?.[1] ?? 0;
      return value.toFixed(value < 10 ? 2 : 0);
    }),
  ]),
);
process.stdout.write(`${JSON.stringify({ bench: 'ledger-growth', node: process.version, ...figures })}\n`);
rmSync(folder, { recursive: true });
