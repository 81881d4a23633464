/**
 * Durable calls per second on PostgreSQL, in one run with the raw limit and with other engines:
 *
 *   npm run bench:postgres -- [--only raw,ours,dbos,graphile,restate] [--quick] [--rounds 3] [--ms 1000]
 *
 * The server is a real one that flushes every commit. `QUITTANCE_TEST_POSTGRES` names an existing server to use
 * instead. Lanes take turns in short rounds, so that they share the load of the machine: compare columns, not runs.
 *
 * The read tables are filled after each round. The rows "for 6 s" are so long that they are filled meanwhile.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { startPostgres } from '../../test/postgres/start-postgres.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import type { Sample } from './lane.ts';
import { LaneProcesses, quantile } from './lane-processes.ts';

const laneNames = ['raw', 'ours', 'dbos', 'graphile', 'restate'] as const;
type LaneName = (typeof laneNames)[number];
const files: { readonly [Name in LaneName]: string } = {
  raw: 'raw-child.ts',
  ours: 'ours-child.ts',
  dbos: '../peers/dbos-child.ts',
  graphile: '../peers/graphile-child.ts',
  restate: '../peers/restate-child.ts',
};

const argumentOf = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const quick = process.argv.includes('--quick');
const rounds = Number(argumentOf('rounds') ?? (quick ? 2 : 3));
const roundMs = Number(argumentOf('ms') ?? (quick ? 400 : 1_000));
const longMs = 6 * roundMs;
const asked = argumentOf('only')?.split(',') ?? laneNames;
const lanes = laneNames.filter((name) => asked.includes(name));
if (lanes.length !== asked.length || !(rounds > 0) || !(roundMs > 0)) {
  process.stderr.write(`--only takes some of ${laneNames.join(',')}; --rounds and --ms take numbers.\n`);
  process.exit(2);
}

const inFlights = [1, 32, 256] as const;
const processCounts = [1, 2, 4] as const;
type Cell = {
  readonly lane: LaneName;
  readonly inFlight: number;
  readonly processes: number;
  readonly isLong?: boolean;
};
type Figures = { readonly perSecond: number[]; readonly took: number[] };

const keyOf = ({ lane, inFlight, processes, isLong }: Cell): string =>
  `${lane}_${inFlight}_${processes}${isLong === true ? '_long' : ''}`;
/** Other engines run in one process. */
const countsOf = (lane: LaneName): readonly number[] =>
  lane === 'raw' || lane === 'ours' ? processCounts : [1];
const cells: readonly Cell[] = [
  ...processCounts.flatMap((processes) =>
    inFlights.flatMap((inFlight) =>
      lanes
        .filter((lane) => countsOf(lane).includes(processes))
        .map((lane) => ({ lane, inFlight, processes })),
    ),
  ),
  ...lanes
    .filter((lane) => lane === 'raw' || lane === 'ours')
    .map((lane) => ({ lane, inFlight: 256, processes: 1, isLong: true })),
];

let stopped = false;
process.once('SIGINT', () => (stopped = true));

const server = await startPostgres({ durable: true });
const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'));
const found = new Map<string, Figures>();
const started = new Map<LaneName, LaneProcesses>();
const progress = createProgress('postgres', cells.length * (rounds + 1));
try {
  const samples = await prepare();
  for (const lane of lanes)
    started.set(
      lane,
      await LaneProcesses.start(join(import.meta.dirname, files[lane]), Math.max(...countsOf(lane)), (n) => ({
        url: lane === 'dbos' || lane === 'graphile' ? databaseUrl(lane) : server.url,
        name: `${lane}${n}`,
        samples,
      })),
    );
  for (let round = 0; round <= rounds && !stopped; round++)
    for (const cell of round % 2 === 0 ? cells : cells.toReversed()) {
      if (stopped) break;
      const measured = await started
        .get(cell.lane)
        ?.measure(
          cell.processes,
          cell.inFlight,
          round === 0 ? Math.min(300, roundMs) : cell.isLong === true ? longMs : roundMs,
        );
      progress.step();
      if (round === 0 || measured === undefined) continue; // the first round warms up
      const figures = found.get(keyOf(cell)) ?? { perSecond: [], took: [] };
      found.set(keyOf(cell), figures);
      figures.perSecond.push(measured.perSecond);
      for (const ms of measured.took) figures.took.push(ms);
    }
} finally {
  progress.done();
  for (const lane of started.values()) await lane.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
report();
if (stopped) process.exitCode = 130;

/** Makes the tables, and entries to copy for the raw lane. */
async function prepare(): Promise<readonly Sample[]> {
  const ledger = await openLedger(server.url, {
    spillFolder: join(folder, 'spill'),
    sealKey: Buffer.alloc(32),
  });
  const runtime = createRuntime({
    ledger,
    tools: [defineTool({ name: 'send_mail', mode: 'external', run: () => ({ city: 'Lyon', ok: true }) })],
  });
  const turn = runtime.turn({ sessionId: 'sample' });
  for (const id of ['first', 'call_123456'])
    await turn.call({ id, name: 'send_mail', arguments: { city: 'Lyon', days: 3 } });
  const entries = await ledger.readEntries({ sessionId: 'sample', limit: 100 });
  await runtime.close();
  await ledger.close();
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS raw CASCADE; CREATE SCHEMA raw;
    CREATE SEQUENCE raw.positions CACHE 256;
    CREATE TABLE raw.entries (LIKE quittance.entries INCLUDING INDEXES)`);
  for (const name of ['dbos', 'graphile']) {
    await client.query(`DROP DATABASE IF EXISTS bench_${name}`);
    await client.query(`CREATE DATABASE bench_${name}`);
  }
  await client.end();
  // The first call also opens the turn: the entries of the second are typical.
  return entries.slice(entries.length / 2).map(({ text, bodies }) => ({ text, bodies: bodies ?? 'null' }));
}

function databaseUrl(lane: string): string {
  const url = new URL(server.url);
  url.pathname = `/bench_${lane}`;
  return url.href;
}

function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((left, right) => left - right),
    0.5,
  );
}

function report(): void {
  const json: Record<string, number | string> = { bench: 'postgres', node: process.version, rounds };
  const rows: string[][] = [];
  for (const cell of cells) {
    const figures = found.get(keyOf(cell));
    if (figures === undefined) continue;
    const sorted = figures.took.toSorted((left, right) => left - right);
    const perSecond = Math.round(median(figures.perSecond));
    const p50 = quantile(sorted, 0.5);
    const p99 = quantile(sorted, 0.99);
    json[`${keyOf(cell)}_per_s`] = perSecond;
    json[`${keyOf(cell)}_p50_ms`] = Number(p50.toFixed(3));
    json[`${keyOf(cell)}_p99_ms`] = Number(p99.toFixed(3));
    rows.push([
      `${cell.lane}, ${cell.inFlight} in flight${cell.isLong === true ? ` for ${longMs / 1_000} s` : ''}`,
      String(cell.processes),
      String(perSecond),
      p50.toFixed(2),
      p99.toFixed(2),
      ...compare(cell, figures, p50, json),
    ]);
  }
  printTable(
    ['durable calls', 'processes', 'calls/s', 'p50 ms', 'p99 ms', 'of raw', 'raw p50 times', 'ours is'],
    rows,
  );
  process.stdout.write(`${JSON.stringify(json)}\n`);
}

/** The share of the raw limit, the p50 in multiples of raw, and how many times as many calls we make. */
function compare(cell: Cell, figures: Figures, p50: number, json: Record<string, number | string>): string[] {
  const raw = found.get(keyOf({ ...cell, lane: 'raw' }));
  const ours = found.get(keyOf({ ...cell, lane: 'ours' }));
  const columns = ['', '', ''];
  if (cell.lane === 'ours' && raw !== undefined) {
    const share = median(figures.perSecond.map((value, round) => value / (raw.perSecond[round] ?? 1)));
    const slower = p50 / median(raw.took);
    json[`${keyOf(cell)}_of_raw`] = Number(share.toFixed(3));
    json[`${keyOf(cell)}_p50_of_raw`] = Number(slower.toFixed(2));
    columns[0] = `${Math.round(share * 100)} %`;
    columns[1] = slower.toFixed(2);
  }
  if (cell.lane !== 'ours' && cell.lane !== 'raw' && ours !== undefined) {
    const times = median(ours.perSecond) / median(figures.perSecond);
    json[`ours_times_${keyOf(cell)}`] = Number(times.toFixed(1));
    columns[2] = `${times.toFixed(1)} times as fast`;
  }
  return columns;
}
