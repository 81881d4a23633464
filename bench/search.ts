/**
 * Measures the search over calls on a full ledger, first page of 50, as the HTTP server answers it. The searches are words,
 * beginnings of words, conditions on arguments and filters, frequent and rare. The newest calls lack a word that all
 * others have. A search that no index answers stops early: `examined to` is the share of the calls that one answer covers.
 * Prints a table and one line of JSON.
 *
 *   npm run bench:search -- [--calls 1000000] [--store sqlite|postgres] [--folder path]
 *
 * `--folder` keeps a SQLite ledger there, so that the next run need not fill one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { OpenLedger } from 'quittance/store';
import type { CallQuery } from '../packages/quittance/src/ledger/call-query.ts';
import { openLedger } from 'quittance/ledger';
import { SampleCall } from '../packages/quittance/src/testing/sample-call.ts';
import { PgServer } from '../test/postgres/pg-server.ts';
import { BoundedReads } from '../packages/server/src/http/bounded-reads.ts';
import { readings } from '../packages/server/src/http/readings.ts';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';
import { findCalls } from '../packages/quittance/src/ledger/reads.ts';

const option = (name: string, otherwise: string): string => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : (process.argv[at + 1] ?? otherwise);
};
const calls = Number(option('--calls', '1000000'));
const store = option('--store', 'sqlite');
const batch = 2_000;
const rounds = 40;
/** Calls that another tool made last. */
const newest = Math.min(5_000, calls / 2);

const began = 1_700_000_000_000;
const cities = ['lyon', 'oslo', 'lima', 'pune', 'kyoto', 'accra', 'quito', 'turin'];
const fill = async (ledger: OpenLedger): Promise<void> => {
  const progress = createProgress(`${calls} calls`, calls);
  for (let from = 0; from < calls; from += batch) {
    await Promise.all(
      Array.from({ length: Math.min(batch, calls - from) }, async (_, index) => {
        const n = from + index;
        const call = new SampleCall(`call_${n}`, {
          sessionId: `session-${n % 5_000}`,
          toolName: `tool_${n % 20}`,
          userId: `user${n % 200}`,
          at: began + n,
          input: {
            kind: 'order',
            order: `A-${n}`,
            // One in ten thousand is large.
            cents: n % 10_000 === 0 ? 5_000_000 + n : n % 9_000,
            city: cities[n % cities.length] ?? '',
            to: `person${n % 50_000}@example.com`,
          },
          output: { state: n < calls - newest ? 'delivered' : 'sent', parcel: `p${n % 1_000}` },
        });
        await ledger.append(call.whole());
      }),
    );
    progress.step(batch);
  }
};

const rare = Math.floor(calls / 3);
const queries: readonly (readonly [name: string, query: CallQuery])[] = [
  ['a word in every call', { text: 'example ' }],
  ['a word in every call but the newest', { text: 'delivered ' }],
  ['beginning of a word in every call', { text: 'exampl' }],
  ['beginning of a word in every call but the newest', { text: 'deliv' }],
  ['beginning of 50,000 frequent words', { text: 'pers' }],
  ['a word in one call of eight', { text: 'kyoto ' }],
  ['an order', { text: `A-${rare}` }],
  ['an address', { text: `person${rare % 50_000}@example.com` }],
  ['two words, both frequent', { text: 'kyoto tool_4 ' }],
  ['two frequent words, never together', { text: 'kyoto lyon ' }],
  ['a word no call has', { text: 'nowhere' }],
  ['a frequent word and one that no call has', { text: 'kyoto nowhere' }],
  ['args.cents=4711', { text: 'args.cents=4711' }],
  ['args.cents>1000, most calls', { text: 'args.cents>1000' }],
  ['args.cents>4000000, one in ten thousand', { text: 'args.cents>4000000' }],
  ['args.order of one call', { text: `args.order=A-${rare}` }],
  ['a frequent word in a session', { text: 'delivered ', sessionId: 'session-7' }],
  ['a frequent word of a tool', { text: 'delivered ', toolName: 'tool_7' }],
  ['a frequent word, no call denied', { text: 'delivered ', outcome: 'ToolDenied' }],
  ['a frequent word, the oldest calls', { text: 'delivered ', until: began + 1_000 }],
  ['args.city!=lyon, most calls', { text: 'args.city!=lyon' }],
  ['args.kind!=order, no call (no index)', { text: 'args.kind!=order' }],
  ['args.kind!=order and a frequent word (no index)', { text: 'delivered args.kind!=order' }],
  ['args.kind!=order of a tool (no index)', { text: 'args.kind!=order', toolName: 'tool_7' }],
  ['a tool and a user, never together', { toolName: 'tool_7', userId: 'user8' }],
  ['a mode that no call has (no index)', { mode: 'local' }],
  ['a tool and a mode that no call has', { toolName: 'tool_7', mode: 'local' }],
  ['failures or timeouts of a tool', { outcome: ['ToolFailure', 'ToolTimeout'], toolName: 'tool_7' }],
];

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? 0;

const kept = option('--folder', '');
const folder = kept === '' ? mkdtempSync(join(tmpdir(), 'quittance-search-')) : kept;
const server =
  store === 'postgres' ? await PgServer.create({ settings: ['shared_buffers = 512MB'] }) : undefined;
try {
  const path = join(folder, 'ledger.db');
  const ledger = await openLedger(server === undefined ? path : server.url, { synchronous: 'normal' });
  if ((await findCalls(ledger, { limit: 1 })).rows.length === 0) await fill(ledger);
  const beganMs = performance.now();
  await findCalls(ledger, { limit: 1 });
  const filledMs = performance.now() - beganMs;
  if (server !== undefined) await server.query('ANALYZE');
  const limits = { callBytes: 65_536, totalBytes: 262_144, timeMs: 60_000 };
  const search = (query: CallQuery) =>
    readings.calls(new BoundedReads(ledger, limits), { ...query, limit: 50 });
  const found: Record<string, { p50: number; p95: number; rows: number; loopMs: number; covered: number }> =
    {};
  for (const [name, query] of queries) {
    const took: number[] = [];
    let page: Awaited<ReturnType<typeof search>> | undefined;
    const loop = monitorEventLoopDelay({ resolution: 1 });
    loop.enable();
    for (let round = 0; round < rounds; round++) {
      const startedMs = performance.now();
      page = await search(query);
      took.push(performance.now() - startedMs);
    }
    loop.disable();
    const to = page?.searchedTo ?? began;
    found[name] = {
      p50: quantile(took, 0.5),
      p95: quantile(took, 0.95),
      rows: page?.rows.length ?? 0,
      loopMs: loop.max / 1e6,
      covered: (began + calls - to) / calls,
    };
  }
  printTable(
    ['search', 'p50 ms', 'p95 ms', 'rows', 'longest slice ms', 'examined to'],
    Object.entries(found).map(([name, { p50, p95, rows, loopMs, covered }]) => [
      name,
      p50.toFixed(1),
      p95.toFixed(1),
      String(rows),
      loopMs.toFixed(1),
      `${(covered * 100).toFixed(1)} %`,
    ]),
  );
  console.log(JSON.stringify({ bench: 'search', store, calls, filledMs: Math.round(filledMs), found }));
  await ledger.close();
} finally {
  await server?.remove();
  if (kept === '') rmSync(folder, { recursive: true, force: true });
}
