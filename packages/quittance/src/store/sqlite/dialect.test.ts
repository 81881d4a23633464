import { expect, test } from 'vitest';
import type { CallQuery } from '../../ledger/call-query.ts';
import type { ListedRows } from '../../ledger/ledger.ts';
import { createSqliteRows } from './dialect.ts';
import { openDatabase, prepareRow } from './database.ts';
import { prepareSchema } from './schema.ts';
import { partStart, toText, WordTable } from './call-lists.ts';

const parts = 40;
const callsPerPart = 3;

/** Every part has the same few calls. The clock of the last part was wrong: its calls seem to be the oldest. */
async function fillParts() {
  const tables = openDatabase(':memory:');
  await prepareSchema(tables, ':memory:');
  const words = new WordTable(tables);
  tables.exec(`INSERT INTO sessions (session, name) VALUES (1, 's')`);
  const put = prepareRow<never>(
    tables,
    `INSERT INTO calls (position, session, call_id, turn_id, tool_name, mode, mode_origin, status, attempts,
       unresolved, requested_at, cost_micros, owner_id)
     VALUES (?, 1, ?, 't', 'look', 'read', 'declared', 'settled', 1, 0, ?, 0, 'o')`,
  );
  for (let part = 0; part < parts; part++)
    for (let n = 0; n < callsPerPart; n++) {
      const position = partStart(part) + 1 + n;
      put.run(position, `p${part}-${n}`, part === parts - 1 ? n : 1_000 * part + n);
      words.add(position, toText(position, ['common']));
    }
  return { tables, table: createSqliteRows(tables, async () => undefined) };
}

/** Ids of all pages, and the number of pages: a page may examine one part, or a few calls. */
async function search(table: ListedRows, query: CallQuery) {
  const ids: string[] = [];
  for (let cursor: string | undefined, pages = 1; ; pages++) {
    const page = await table.calls({ text: 'common ', ...query, scan: 1, cursor });
    ids.push(...page.rows.map(({ callId }) => callId));
    if (page.next === undefined) return { ids, pages };
    cursor = page.next;
  }
}

test('a search skips parts that have no call of the period', async () => {
  const { tables, table } = await fillParts();
  const every = await search(table, {});
  expect(every.ids).toHaveLength(parts * callsPerPart);
  expect(every.pages).toBe(parts);
  const oldest = await search(table, { until: 1_001 });
  expect(oldest.ids).toEqual(['p39-2', 'p39-1', 'p39-0', 'p1-0', 'p0-2', 'p0-1', 'p0-0']);
  expect(oldest.pages).toBe(3);
  const newest = await search(table, { since: 38_000 });
  expect(newest.ids).toEqual(['p38-2', 'p38-1', 'p38-0']);
  // The search ends without a look at the older parts.
  expect(newest.pages).toBeLessThanOrEqual(2);
  expect((await search(table, { since: 5_000, until: 5_001 })).ids).toEqual(['p5-0']);
  expect(await search(table, { since: 5_500, until: 6_000 })).toEqual({ ids: [], pages: 1 });
  const plan = prepareRow(
    tables,
    'EXPLAIN QUERY PLAN SELECT 1 FROM calls WHERE (position / 65536) = 1 AND requested_at >= 1 AND requested_at < 2',
  ).all();
  expect(JSON.stringify(plan)).toContain('calls_by_part');
  tables.close();
});
