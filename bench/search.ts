/**
 * Measures the search over calls on a full ledger: words, beginnings of words and conditions on arguments, frequent and
 * rare, first page of 50. Prints a table and one line of JSON.
 *
 *   npm run bench:search -- [--calls 1000000] [--store sqlite|postgres]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from 'quittance/store';
import { openLedger } from 'quittance/ledger';
import { SampleCall } from '../src/testing/sample-call.ts';
import { PgServer } from '../test/postgres/pg-server.ts';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

const option = (name: string, otherwise: string): string => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : (process.argv[at + 1] ?? otherwise);
};
const calls = Number(option('--calls', '1000000'));
const store = option('--store', 'sqlite');
const batch = 2_000;
const rounds = 40;

const cities = ['lyon', 'oslo', 'lima', 'pune', 'kyoto', 'accra', 'quito', 'turin'];
const fill = async (ledger: Ledger): Promise<void> => {
  const progress = createProgress(`${calls} calls`, calls);
  for (let from = 0; from < calls; from += batch) {
    await Promise.all(
      Array.from({ length: Math.min(batch, calls - from) }, async (_, index) => {
        const n = from + index;
        const call = new SampleCall(`call_${n}`, {
          sessionId: `session-${n % 5_000}`,
          toolName: `tool_${n % 20}`,
          userId: `user${n % 200}`,
          at: 1_700_000_000_000 + n,
          input: {
            order: `A-${n}`,
            // One in ten thousand is large.
            cents: n % 10_000 === 0 ? 5_000_000 + n : n % 9_000,
            city: cities[n % cities.length] ?? '',
            to: `person${n % 50_000}@example.com`,
          },
          output: { state: 'delivered', parcel: `p${n % 1_000}` },
        });
        await ledger.journal.append(call.whole());
      }),
    );
    progress.step(batch);
  }
};

const rare = Math.floor(calls / 3);
const queries: readonly (readonly [name: string, text: string])[] = [
  ['a word in every call', 'delivered '],
  ['beginning of a word in every call', 'deliv'],
  ['a word in one call of eight', 'kyoto '],
  ['an order', `A-${rare}`],
  ['an address', `person${rare % 50_000}@example.com`],
  ['two words, both frequent', 'kyoto tool_4 '],
  ['a word no call has', 'nowhere'],
  ['args.cents=4711', 'args.cents=4711'],
  ['args.cents>1000, most calls', 'args.cents>1000'],
  ['args.cents>4000000, one in ten thousand', 'args.cents>4000000'],
  ['args.order of one call', `args.order=A-${rare}`],
];

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? 0;

const folder = mkdtempSync(join(tmpdir(), 'quittance-search-'));
const server =
  store === 'postgres' ? await PgServer.create({ settings: ['shared_buffers = 512MB'] }) : undefined;
try {
  const path = join(folder, 'ledger.db');
  const ledger = await openLedger(server === undefined ? path : server.url, { synchronous: 'normal' });
  await fill(ledger);
  const beganMs = performance.now();
  await ledger.queries.findCalls({ limit: 1 });
  const filledMs = performance.now() - beganMs;
  if (server !== undefined) await server.query('ANALYZE');
  const found: Record<string, { p50: number; p95: number; rows: number }> = {};
  for (const [name, text] of queries) {
    const took: number[] = [];
    let rows = 0;
    for (let round = 0; round < rounds; round++) {
      const startedMs = performance.now();
      ({ length: rows } = (await ledger.queries.findCalls({ text, limit: 50, scan: 16_000 })).rows);
      took.push(performance.now() - startedMs);
    }
    found[name] = { p50: quantile(took, 0.5), p95: quantile(took, 0.95), rows };
  }
  printTable(
    ['search', 'p50 ms', 'p95 ms', 'rows'],
    Object.entries(found).map(([name, { p50, p95, rows }]) => [
      name,
      p50.toFixed(1),
      p95.toFixed(1),
      String(rows),
    ]),
  );
  console.log(JSON.stringify({ bench: 'search', store, calls, filledMs: Math.round(filledMs), found }));
  await ledger.close();
} finally {
  await server?.remove();
  rmSync(folder, { recursive: true, force: true });
}
