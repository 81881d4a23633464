/**
 * Measures whether a ledger on PostgreSQL slows down as it grows: durable calls, look-ups, lists, search, verify.
 *
 *   npm run bench:postgres:growth -- [--calls 1000000]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import type { Ledger } from 'quittance/store';
import { openLedger } from 'quittance/ledger';
import { verifyLedger } from '../../src/replay/verify-ledger.ts';
import { SampleCall } from '../../src/testing/sample-call.ts';
import { PgServer } from '../../test/postgres/pg-server.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import { quantile } from './lane-processes.ts';

const at = process.argv.indexOf('--calls');
const most = at < 0 ? 1_000_000 : Number(process.argv[at + 1]);
if (!(most >= 1_000)) {
  process.stderr.write('--calls takes a number of at least 1000.\n');
  process.exit(2);
}
const sizes = [0, most];
const sessions = 5_000;
const callsAtOnce = 1_024;

let stopped = false;
process.once('SIGINT', () => (stopped = true));

const folder = mkdtempSync(join(tmpdir(), 'quittance-growth-'));
process.chdir(folder);

const server = await PgServer.create({ settings: ['shared_buffers = 512MB', 'max_wal_size = 4GB'] });

type Figure = readonly [name: string, value: number];
const columns: Figure[][] = [];
let made = 0;
try {
  const ledger = await openLedger(server.url);
  for (const size of sizes) {
    await fill(ledger, size);

    if (stopped) break;
    columns.push(await measure(ledger));
  }
  await ledger.close();
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
report();
if (stopped) process.exitCode = 130;

/** Without waiting for the disk; the measured part waits. */
async function fill(ledger: Ledger, size: number): Promise<void> {
  const progress = createProgress(`filling to ${size}`, size);
  await setting('synchronous_commit', 'off');
  const work = async (): Promise<void> => {
    while (made < size && !stopped) {
      const n = made++;
      const call = new SampleCall(`call_${n}`, { sessionId: `session-${n % sessions}` });
      await ledger.journal.append(call.begin());
      await ledger.journal.append(call.end());
      progress.step();
    }
  };
  await Promise.all(Array.from({ length: callsAtOnce }, work));
  await ledger.queries.findCalls({ limit: 1 });
  await setting('synchronous_commit', 'on');
  await server.query('VACUUM ANALYZE');
  progress.done();
}

async function setting(name: string, value: string): Promise<void> {
  await server.query(`ALTER SYSTEM SET ${name} = '${value}'`);
  await server.query('SELECT pg_reload_conf()');
}

async function time(name: string, count: number, ask: (n: number) => unknown): Promise<Figure[]> {
  const took: number[] = [];
  for (let n = 0; n < count; n++) {
    const beganMs = performance.now();
    await ask(n);
    took.push(performance.now() - beganMs);
  }
  took.sort((left, right) => left - right);
  return [
    [`${name}, p50 ms`, quantile(took, 0.5)],
    [`${name}, p95 ms`, quantile(took, 0.95)],
  ];
}

async function measure(ledger: Ledger): Promise<Figure[]> {
  const runtime = createRuntime({
    ledger,
    tools: [defineTool({ name: 'send_mail', mode: 'external', loopLimit: 1e9, run: () => ({ ok: true }) })],
  });
  const turn = runtime.turn({ sessionId: 'measured' });
  const some = (n: number): number => (n * 7_919) % Math.max(1, made);
  const { queries, journal } = ledger;
  const call = (id: string): Promise<unknown> =>
    turn.call({ id, name: 'send_mail', arguments: { city: 'Lyon', id } });
  await time('', 100, (n) => call(`warm ${made} ${n}`));
  const beganMs = performance.now();
  await Promise.all(
    Array.from({ length: 256 }, async (_, lane) => {
      const own = runtime.turn({ sessionId: `lane-${lane}` });
      for (let n = 0; n < 20; n++)
        await own.call({ id: `many ${made} ${lane} ${n}`, name: 'send_mail', arguments: { n } });
    }),
  );
  const perSecond = (256 * 20_000) / (performance.now() - beganMs);
  const figures: Figure[] = [
    ['calls/s at 256 in flight', perSecond],
    ...(await time('one durable call', 200, (n) => call(`one ${made} ${n}`))),
    ...(await time('call by id', 300, (n) =>
      journal.readCall(`session-${some(n) % sessions}`, `call_${some(n)}`),
    )),
    ...(await time('newest calls', 40, () => queries.findCalls({ limit: 50 }))),
    ...(await time('calls of a session', 40, (n) =>
      queries.findCalls({ sessionId: `session-${n}`, limit: 50 }),
    )),
    ...(await time('open calls', 40, () => queries.findOpenCalls({ limit: 50 }))),
    ...(await time('search, one window', 40, (n) =>
      queries.findCalls({ text: `call_${some(n)}x`, scan: 5_000, limit: 50 }),
    )),
    ...(await time('sessions', 40, () => queries.findSessions({ limit: 50 }))),
    ...(await time('counts by tool and hour', 40, () =>
      queries.tallyCalls({ by: ['hour', 'toolName', 'outcome'] }),
    )),
    ...(await time('waiting for approval', 40, () =>
      queries.findConfirmations({ status: 'pending', limit: 50 }),
    )),
  ];
  await runtime.close();
  const verifyMs = performance.now();
  let findings = 0;
  const progress = { signal: new AbortController().signal, startProgress: createProgress };
  await verifyLedger(ledger, undefined, progress, async () => void findings++);
  figures.push(['verify, s', (performance.now() - verifyMs) / 1_000], ['verify, findings', findings]);
  const [row] = await server.query('SELECT pg_database_size(current_database())::float8 AS bytes');
  figures.push(['bytes per call', made === 0 ? 0 : Number(row?.['bytes']) / made]);
  return figures;
}

function report(): void {
  printTable(
    ['calls in the ledger', ...sizes.slice(0, columns.length).map(String)],
    (columns[0] ?? []).map(([name], row) => [
      name,
      ...columns.map((column) => {
        const value = column[row]?.[1] ?? 0;
        return value.toFixed(value < 10 ? 2 : 0);
      }),
    ]),
  );
  const figures = columns.flatMap((column, index) =>
    column.map(([name, value]) => [
      `${name.replaceAll(/[ ,/]+/g, '_')}_${sizes[index] ?? 0}`,
      Number(value.toFixed(3)),
    ]),
  );
  process.stdout.write(
    `${JSON.stringify({ bench: 'postgres-growth', node: process.version, ...Object.fromEntries(figures) })}\n`,
  );
}
