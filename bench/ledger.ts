/**
 * Measures durable calls on the SQLite ledger against the raw limit: the same rows, also serialised, written by plain
 * better-sqlite3 into the same tables. Both use the same flags, the same number of rows per commit, and the same two
 * commits per call (one for reads). Lanes take turns in short rounds, so that they share the load of the machine:
 * compare columns, not runs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { createProgress } from './progress.ts';
import { createRawLane } from './raw-ledger.ts';
import { printTable } from './table.ts';

const quick = process.argv.includes('--quick');
const rounds = quick ? 3 : 10;
const roundMs = quick ? 150 : 400;
const inFlights = [1, 32, 256] as const;

const input = z.object({ city: z.string(), days: z.number() });
const run = async ({ city }: { city: string }): Promise<{ city: string; ok: boolean }> => ({
  city,
  ok: true,
});
const tools = [
  defineTool({ name: 'send_mail', input, mode: 'external', loopLimit: 1e9, run }),
  defineTool({ name: 'get_weather', input, mode: 'read', loopLimit: 1e9, run }),
] as const;

/** Makes this many concurrent calls for a while, and records the duration of each. */
export type Lane = { readonly burst: (inFlight: number, forMs: number, took: number[]) => Promise<void> };

const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'));
const ledger = await openLedger(`sqlite:${join(folder, 'ours.db')}`);
const runtime = createRuntime({ tools, ledger });
let count = 0;

const oursOn = (name: 'send_mail' | 'get_weather'): Lane => ({
  async burst(inFlight, forMs, took) {
    const untilMs = performance.now() + forMs;
    const worker = async (_: unknown, n: number): Promise<void> => {
      let turn = runtime.turn({ sessionId: `session-${n}` });
      for (let made = 1; performance.now() < untilMs; made++) {
        if (made % 1_000 === 0) turn = runtime.turn({ sessionId: `session-${n}` });
        const beganMs = performance.now();
        await turn.call({ id: `call_${count++}`, name, arguments: { city: 'Lyon', days: count } });
        took.push(performance.now() - beganMs);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
  },
});

/** Samples of the ledger's rows, so that the raw lane writes the same. */
async function sample(name: 'send_mail' | 'get_weather'): Promise<{ text: string; bodies: string }[]> {
  const sessionId = `sample-${name}`;
  const turn = runtime.turn({ sessionId });
  for (const id of ['first', 'call_123456'])
    await turn.call({ id, name, arguments: { city: 'Lyon', days: 3 } });
  const entries = await ledger.entries.read({ sessionId, limit: 100 });
  // The first call also opens the turn: use the rows of the second, which are typical.
  const perCall = entries.length / 2;
  return entries.slice(perCall).map(({ text, bodies }) => ({ text, bodies: bodies ?? 'null' }));
}

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
const median = (values: readonly number[]): number =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );

type Figures = { readonly perSecond: number[]; readonly took: number[] };

async function measure(name: 'send_mail' | 'get_weather'): Promise<{
  readonly rows: string[][];
  readonly figures: Record<string, number>;
}> {
  const lanes: readonly (readonly [string, Lane])[] = [
    ['ours', oursOn(name)],
    ['raw', createRawLane(join(folder, `raw-${name}.db`), await sample(name))],
  ];
  const found = inFlights.map(
    () => new Map<string, Figures>(lanes.map(([lane]) => [lane, { perSecond: [], took: [] }])),
  );
  const progress = createProgress(name, rounds * inFlights.length);
  for (let round = -1; round < rounds; round++)
    for (const [index, inFlight] of inFlights.entries()) {
      for (const [lane, { burst }] of round % 2 === 0 ? lanes : lanes.toReversed()) {
        const took: number[] = [];
        const beganMs = performance.now();
        await burst(inFlight, round < 0 ? 100 : roundMs, took);
        const elapsedMs = performance.now() - beganMs;
        if (round < 0) continue; // warm-up
        const figures = found[index]?.get(lane) as Figures;
        figures.perSecond.push((took.length / elapsedMs) * 1_000);
        for (const ms of took) figures.took.push(ms);
      }
      if (round >= 0) progress.step();
    }
  progress.done();
  const rows: string[][] = [];
  const figures: Record<string, number> = {};
  for (const [index, inFlight] of inFlights.entries()) {
    const ours = found[index]?.get('ours') as Figures;
    const raw = found[index]?.get('raw') as Figures;
    const ratio = median(ours.perSecond.map((value, round) => value / (raw.perSecond[round] ?? 1)));
    const sorted = ours.took.toSorted((a, b) => a - b);
    const key = `${name === 'get_weather' ? 'read' : 'external'}_${inFlight}`;
    figures[`${key}_per_s`] = Math.round(median(ours.perSecond));
    figures[`${key}_raw_per_s`] = Math.round(median(raw.perSecond));
    figures[`${key}_ratio`] = Number(ratio.toFixed(3));
    figures[`${key}_p50_ms`] = Number(quantile(sorted, 0.5).toFixed(3));
    figures[`${key}_p99_ms`] = Number(quantile(sorted, 0.99).toFixed(3));
    rows.push([
      `${name === 'get_weather' ? 'read' : 'external'}, ${inFlight} in flight`,
      String(Math.round(median(ours.perSecond))),
      quantile(sorted, 0.5).toFixed(2),
      quantile(sorted, 0.99).toFixed(2),
      String(Math.round(median(raw.perSecond))),
      `${Math.round(ratio * 100)} %`,
      inFlight === 1 ? '85 %' : '70 %',
    ]);
  }
  return { rows, figures };
}

const external = await measure('send_mail');
const read = await measure('get_weather');
printTable(
  ['durable calls, synchronous=FULL', 'calls/s', 'p50 ms', 'p99 ms', 'raw calls/s', 'of raw', 'goal'],
  [...external.rows, ...read.rows],
);
process.stdout.write(
  `${JSON.stringify({ bench: 'ledger', node: process.version, ...external.figures, ...read.figures })}\n`,
);
await runtime.close();
await ledger.close();
rmSync(folder, { recursive: true });
