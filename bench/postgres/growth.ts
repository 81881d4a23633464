/**
 * Measures whether a ledger on PostgreSQL slows down as it grows: durable calls, look-ups, lists, search, verify.
 *
 *   npm run bench:postgres:growth -- [--calls 1000000,5000000]
 *
 * Calls are copied from one real call by statements of the server, chain included, so that filling takes minutes. The
 * lists are filled by the ledger itself, and timed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { createHttpServer } from '@quittance/server';
import type { OpenLedger } from 'quittance/store';
import { openLedger } from 'quittance/ledger';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import { PgServer } from '../../test/postgres/pg-server.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import { quantile } from './lane-processes.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';
import { findOpenCalls, findSessions, findConfirmations } from '../../packages/quittance/src/ledger/reads.ts';
import { readTallies } from '../../packages/quittance/src/ledger/reads.ts';

const at = process.argv.indexOf('--calls');
const asked = (at < 0 ? '1000000' : (process.argv[at + 1] ?? '')).split(',').map(Number);
if (!asked.every((calls, index) => calls >= 1_000 && calls > (asked[index - 1] ?? 0))) {
  process.stderr.write('--calls takes rising numbers of at least 1000, with commas between them.\n');
  process.exit(2);
}
const sizes = [0, ...asked];
const sessions = 5_000;
const callsAtOnce = 50_000;
/** A busy machine makes single statements slow: the measured times show it, and nothing gives up. */
const patienceMs = 600_000;

let stopped = false;
process.once('SIGINT', () => (stopped = true));

const folder = mkdtempSync(join(tmpdir(), 'quittance-growth-'));
process.chdir(folder);

const server = await PgServer.create({ settings: ['shared_buffers = 512MB', 'max_wal_size = 4GB'] });

type Figure = readonly [name: string, value: number];
const columns: Figure[][] = [];
let made = 0;
try {
  for (const size of sizes) {
    const filling: Figure[] = size === 0 ? [['filling the lists, calls/s', 0]] : await fill(size);
    // Opening it lifts new positions over the copied ones.
    const ledger = await open();
    if (!stopped) columns.push([...filling, ...(await measure(ledger))]);
    await ledger.close();
    if (stopped) break;
  }
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
report();
if (stopped) process.exitCode = 130;

function open(): Promise<OpenLedger> {
  return openLedger(server.url, { outageWaitMs: patienceMs, sealKey: Buffer.alloc(32) });
}

/** Copies one call until there are so many. Does not wait for the disk; the measured part waits. */
async function fill(size: number): Promise<Figure[]> {
  const progress = createProgress(`filling to ${size}`, size - made);
  await setting('synchronous_commit', 'off');
  const ledger = await open();
  const call = new SampleCall('call_0', { sessionId: 'session-sample' });
  if (made === 0) for (const entry of [call.begin(), call.end()]) await ledger.append(entry);
  await ledger.close();
  while (made < size && !stopped) {
    const many = Math.min(callsAtOnce, size - made);
    await server.query(copySql(made, many));
    made += many;
    for (let n = 0; n < many; n++) progress.step();
  }
  progress.done();
  await server.query('VACUUM ANALYZE');
  const beganMs = performance.now();
  const filled = await open();
  await findCalls(filled, { limit: 1 });
  await filled.close();
  const seconds = (performance.now() - beganMs) / 1_000;
  await setting('synchronous_commit', 'on');
  await server.query('VACUUM ANALYZE');
  return [['filling the lists, calls/s', (size - (sizes[sizes.indexOf(size) - 1] ?? 0)) / seconds]];
}

/**
 * Entries like those of the sample, `many` calls from number `first` on. Each session gets its entries in one statement,
 * which continues its chain. The calls are a second apart.
 */
function copySql(first: number, many: number): string {
  return `WITH sample AS (
      SELECT e.version, e.text, e.bodies, e.salt, (regexp_match(e.text, '"at":(\\d+)'))[1] AS at
      FROM quittance.entries e WHERE e.session_id = 'session-sample' ORDER BY e.version),
    item AS (
      SELECT 'session-' || (n % ${sessions}) AS s, 'call_c' || n AS c, n, x.version, x.bodies, x.salt,
        replace(replace(replace(regexp_replace(x.text, '"(ent|evt|id)([-_][^"]*)"', '"\\1\\2c' || n || '"', 'g'),
          '"session-sample"', '"session-' || (n % ${sessions}) || '"'), '"call_0"', '"call_c' || n || '"'),
          '"at":' || x.at, '"at":' || (x.at::bigint - 6000000000 + n * 1000)) AS t
      FROM generate_series(${first}::bigint, ${first + many - 1}) n, sample x),
    placed AS (
      SELECT i.*, coalesce(h.hash, encode(sha256(convert_to('quittance v1 session "' || i.s || '"', 'UTF8')), 'hex')) AS head,
        coalesce(h.sequence, 0) + row_number() OVER (PARTITION BY i.s ORDER BY i.n, i.version) AS sequence,
        (SELECT max(position) FROM quittance.entries) + row_number() OVER (ORDER BY i.n, i.version) AS position
      FROM item i LEFT JOIN quittance.sessions h ON h.session_id = i.s),
    linked AS MATERIALIZED (
      SELECT p.*, quittance.chain(p.head, p.sequence, p.t) OVER (PARTITION BY p.s ORDER BY p.sequence) AS hash FROM placed p),
    heads AS (
      INSERT INTO quittance.sessions AS h (session_id, sequence, hash, position)
      SELECT DISTINCT ON (s) s, sequence, hash, position FROM linked ORDER BY s, sequence DESC
      ON CONFLICT (session_id) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash, position = excluded.position)
    INSERT INTO quittance.entries (position, session_id, sequence, call_id, version, text, bodies, salt, hash)
    SELECT position, s, sequence, c, version, t, bodies, salt, hash FROM linked ORDER BY position`;
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

async function measure(ledger: OpenLedger): Promise<Figure[]> {
  const runtime = createRuntime({
    ledger,
    tools: [defineTool({ name: 'send_mail', mode: 'external', loopLimit: 1e9, run: () => ({ ok: true }) })],
  });
  const turn = runtime.turn({ sessionId: 'measured' });
  const some = (n: number): number => (n * 7_919) % Math.max(1, made);
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
      ledger.readCall(`session-${some(n) % sessions}`, `call_${some(n)}`),
    )),
    ...(await time('newest calls', 40, () => findCalls(ledger, { limit: 50 }))),
    ...(await time('calls of a session', 40, (n) =>
      findCalls(ledger, { sessionId: `session-${n}`, limit: 50 }),
    )),
    ...(await time('open calls', 40, () => findOpenCalls(ledger, { limit: 50 }))),
    ...(await time('search, one window', 40, (n) =>
      findCalls(ledger, { text: `call_${some(n)}x`, scan: 5_000, limit: 50 }),
    )),
    ...(await time('sessions', 40, () => findSessions(ledger, { limit: 50 }))),
    ...(await time('counts by tool and hour', 40, () =>
      readTallies(ledger, { by: ['hour', 'toolName', 'outcome'] }),
    )),
    ...(await time('waiting for approval', 40, () =>
      findConfirmations(ledger, { status: 'pending', limit: 50 }),
    )),
  ];
  figures.push(...(await timePages(ledger, runtime)));
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

/** The requests of the console's pages, over HTTP. */
async function timePages(ledger: OpenLedger, runtime: Runtime): Promise<Figure[]> {
  const http = await createHttpServer({
    ledger,
    runtime,
    tools: [],
    ledgerUrl: server.url,
    port: 0,
    localName: 'bench',
    limits: { rate: { perSecond: 10_000, burst: 10_000 } },
    onError: (error) => console.error(error),
  });
  const newest = Date.now() + 1;
  const pages: readonly (readonly [name: string, count: number, path: (n: number) => string])[] = [
    ['calls', 60, () => '/v1/calls?limit=50'],
    ['calls of a tool', 40, () => '/v1/calls?limit=50&toolName=send_mail'],
    ['calls of a session', 40, (n) => `/v1/calls?limit=50&sessionId=session-${n}`],
    ['failed calls', 40, () => '/v1/calls?limit=50&outcome=ToolFailure'],
    ['a search', 40, (n) => `/v1/calls?limit=50&search=call_c${n}x`],
    ['facets', 40, (n) => `/v1/calls/facets?until=${newest + n}`],
    ['one call', 60, (n) => `/v1/sessions/session-${n}/calls/call_c${n}`],
    ['sessions', 40, () => '/v1/sessions?limit=50'],
    ['one session', 40, (n) => `/v1/sessions/session-${n * 19}`],
    ['tools', 40, () => '/v1/tools'],
    ['one tool', 20, () => '/v1/tools/send_mail'],
    ['stats of a month', 20, (n) => `/v1/stats?since=${newest - 30 * 86_400_000 + n}&buckets=60`],
    ['approvals', 40, () => '/v1/confirmations?status=pending'],
    ['unresolved calls', 40, () => '/v1/unresolved'],
  ];
  const figures: Figure[] = [];
  for (const [name, count, path] of pages)
    figures.push(
      ...(await time(`page: ${name}`, count, async (n) => {
        const answer = await fetch(http.url + path(n), {
          headers: { authorization: `Bearer ${http.token}` },
        });
        await answer.arrayBuffer();
        if (!answer.ok && made > 0) throw new Error(`${path(n)} answered ${answer.status}.`);
      })),
    );
  await http.close();
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
