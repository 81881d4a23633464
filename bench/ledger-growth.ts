/**
 * Measures whether a ledger slows down as it grows: durable calls, point look-ups and queries at 0, 100,000 and
 * 1,000,000 calls.
 *
 *   npm run bench:growth -- [--calls 1000000]
 *
 * The three ledgers are open at the same time. Their calls take turns in short rounds, so that they share the load of
 * the machine. The first call of a session after opening compares the index of the session with its entries. That
 * depends on the size of the session, not of the ledger, so it has a row of its own.
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
import { findCalls, findOpenCalls, findUnsettledEffects } from '../packages/quittance/src/ledger/reads.ts';
import { findSessions } from '../packages/quittance/src/ledger/reads.ts';

const asked = process.argv.indexOf('--calls');
const most = asked < 0 ? 1_000_000 : Number(process.argv[asked + 1]);
const sizes = [0, most / 10, most];
const inFlights = [1, 32, 256] as const;
const sessions = 1_000;
const callsPerTurn = 20;
const rounds = 15;
const place = { city: 'Lyon', days: 3 };

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
      for (let calls = 0; calls < callsPerTurn && left > 0; calls++) {
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

/** A ledger of a certain size, with what was measured on it. */
type Grown = {
  readonly size: number;
  readonly path: string;
  readonly ledger: Awaited<ReturnType<typeof openLedger>>;
  readonly runtime: Runtime<typeof tools>;
  readonly opening: readonly Figure[];
  /** Durations of calls, and calls per second of each round, by the number in flight. */
  readonly took: Map<number, number[]>;
  readonly perSecond: Map<number, number[]>;
};
type Figure = readonly [name: string, value: number];

/** Fills a ledger without waiting for the disk, and opens it again. */
async function grow(size: number): Promise<Grown> {
  const path = join(folder, `${size}.db`);
  const fill = await openLedger(path, { synchronous: 'normal' });
  const progress = createProgress(`filling to ${size}`, size);
  const filler = createRuntime({ tools, ledger: fill });
  if (size > 0) await makeCalls(filler, size, 256, (n) => progress.step(n));
  await filler.close();
  progress.done();
  await fill.close();

  const openedMs = performance.now();
  const ledger = await openLedger(path);
  const openMs = performance.now() - openedMs;
  await findCalls(ledger, { limit: 1 });
  const findMs = performance.now();
  await findOpenCalls(ledger);
  const openCallsMs = performance.now() - findMs;
  const runtime = createRuntime({ tools, ledger });
  const warmUp = runtime.turn({ sessionId: 'warm-up' });
  for (let n = 0; n < 200; n++) await warmUp.call({ id: `call_${n}`, name: 'send_mail', arguments: place });
  const firstUse = await makeCalls(runtime, callsPerTurn * 50, 1);
  const opening: readonly Figure[] = [
    ['open ms', openMs],
    ['open calls ms', openCallsMs],
    [
      'first call of a session ms',
      quantile(
        firstUse.filter((_, n) => n % callsPerTurn === 0),
        0.5,
      ),
    ],
  ];
  await makeCalls(runtime, sessions * callsPerTurn, 256); // uses every session
  await findCalls(ledger, { limit: 1 });
  return { size, path, ledger, runtime, opening, took: new Map(), perSecond: new Map() };
}

async function measureCalls(
  { runtime, took, perSecond }: Grown,
  inFlight: number,
  count: number,
): Promise<void> {
  const beganMs = performance.now();
  const durations = await makeCalls(runtime, count, inFlight);
  const seconds = (performance.now() - beganMs) / 1_000;
  took.set(inFlight, [...(took.get(inFlight) ?? []), ...durations]);
  perSecond.set(inFlight, [...(perSecond.get(inFlight) ?? []), count / seconds]);
}

async function measureReads({ ledger, path, opening }: Grown): Promise<readonly Figure[]> {
  const some = (n: number): string => `call_${Math.floor((n * 7_919) % Math.max(1, made))}`;
  return [
    ...opening,
    ['call by id ms', await time(300, async (n) => ledger.readCall(`session-${n % sessions}`, some(n)))],
    [
      'unsettled ms',
      await time(300, async (n) => findUnsettledEffects(ledger, `session-${n}`, 'send_mail', 'x')),
    ],
    ['newest ms', await time(30, async () => findCalls(ledger, {}))],
    ['of a session ms', await time(30, async (n) => findCalls(ledger, { sessionId: `session-${n}` }))],
    ['failures ms', await time(30, async () => findCalls(ledger, { outcome: 'ToolFailure' }))],
    ['text, none ms', await time(5, async () => findCalls(ledger, { text: 'no such thing' }))],
    ['sessions ms', await time(30, async () => findSessions(ledger, {}))],
    ['file MiB', statSync(path).size / 1_048_576],
  ];
}

const grown: Grown[] = [];
for (const size of sizes) grown.push(await grow(size));
const progress = createProgress('measuring', rounds * inFlights.length);
for (let round = 0; round < rounds; round++)
  for (const inFlight of inFlights) {
    for (const each of round % 2 === 0 ? grown : grown.toReversed())
      await measureCalls(each, inFlight, inFlight === 1 ? 300 : 4_000);
    progress.step();
  }
progress.done();

const columns: (readonly Figure[])[] = [];
for (const each of grown) {
  const calls = inFlights.flatMap((inFlight): readonly Figure[] => [
    [`calls/s at ${inFlight}`, quantile(each.perSecond.get(inFlight) ?? [], 0.5)],
    [`p50 ms at ${inFlight}`, quantile(each.took.get(inFlight) ?? [], 0.5)],
    [`p99 ms at ${inFlight}`, quantile(each.took.get(inFlight) ?? [], 0.99)],
  ]);
  columns.push([...calls, ...(await measureReads(each))]);
}
const figures: Record<string, number> = {};
for (const [index, column] of columns.entries())
  for (const [name, value] of column)
    figures[`${name.replaceAll(/[ ,/]+/g, '_')}_${sizes[index] ?? 0}`] = Number(value.toFixed(3));

/** How many times as slow the largest ledger is. A rate is compared round by round. */
function compare(name: string, row: number): number {
  const inFlight = inFlights.find((each) => name === `calls/s at ${each}`);
  const [small, large] = [grown[0], grown.at(-1)];
  if (inFlight === undefined) return (columns.at(-1)?.[row]?.[1] ?? 0) / (columns[0]?.[row]?.[1] ?? 1);
  const before = small?.perSecond.get(inFlight) ?? [];
  const after = large?.perSecond.get(inFlight) ?? [];
  const times = quantile(
    before.map((value, round) => value / (after[round] ?? 1)),
    0.5,
  );
  figures[`times_at_${inFlight}`] = Number(times.toFixed(2));
  return times;
}

printTable(
  ['calls in the ledger', ...sizes.map(String), 'times'],
  (columns[0] ?? []).map(([name], row) => [
    name,
    ...columns.map((column) => {
      const value = column[row]?.[1] ?? 0;
      return value.toFixed(value < 10 ? 2 : 0);
    }),
    compare(name, row).toFixed(2),
  ]),
);
process.stdout.write(`${JSON.stringify({ bench: 'ledger-growth', node: process.version, ...figures })}\n`);
for (const { runtime, ledger } of grown) {
  await runtime.close();
  await ledger.close();
}
rmSync(folder, { recursive: true });
