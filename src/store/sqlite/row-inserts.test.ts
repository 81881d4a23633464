/** Entries of one commit are inserted together. What else the commit does must find them all the same. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Plan, Story } from '../../../test/make-ledger.ts';
import { makeEntries, stories } from '../../../test/make-ledger.ts';
import { SampleCall } from '../../testing/sample-call.ts';
import type { Database } from './database.ts';
import { LogState } from './log-state.ts';
import { openDatabase } from './database.ts';
import { openLedgerFile } from './open-file.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import { RowInserts } from './row-inserts.ts';
import { SqliteOwnFiles } from './sqlite-own-files.ts';
import { createAppendOrder } from './write-order.ts';
import { createWriteParts } from './write-parts.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const newPath = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-inserts-'));
  folders.push(folder);
  return join(folder, 'ledger.db');
};

/** Not the index: when it is written depends on the commits. */
const tables = ['entries', 'claims', 'counters', 'states', 'unsettled', 'marks'];
const readTables = (database: Database): unknown[] =>
  tables.map((table) => database.prepare(`SELECT * FROM ${table}`).all());

test.each(['never', 'always'] as const)(
  'a commit of many entries stores the same as many commits (writer thread: %s)',
  async (writerThread) => {
    const plans = Object.keys(stories).flatMap((story, n) =>
      [0, 1].map((copy): Plan => ({
        session: `s${(n + copy) % 3}`,
        call: `c${n}-${copy}`,
        story: story as Story,
      })),
    );
    const entries = makeEntries(plans);
    const [together, alone] = [newPath(), newPath()];
    for (const path of [together, alone]) {
      const ledger = await openSqliteLedger(path, {}, { longestTail: 30, writerThread });
      const results =
        path === together
          ? await Promise.all(entries.map((entry) => ledger.journal.append(entry)))
          : await entries.reduce<Promise<unknown[]>>(
              async (before, entry) => [...(await before), await ledger.journal.append(entry)],
              Promise.resolve([]),
            );
      expect(results).toEqual(results.map(() => expect.objectContaining({ status: 'appended' })));
      await ledger.close();
    }
    const [one, many] = [together, alone].map((path) => {
      const database = openDatabase(path, { readOnly: true });
      const rows = readTables(database);
      database.close();
      // Owners and salts differ, and with them the hashes.
      return JSON.stringify(rows).replaceAll(/own_[\da-f]{24}|[\w-]{24}(?=",")|[\da-f]{64}/g, '');
    });
    expect(one === many).toBe(true);
  },
);

test('an order that reads a call of the same commit finds its entries', async () => {
  const ledger = await openSqliteLedger(newPath());
  const call = new SampleCall('c', { sessionId: 's' });
  const entries = [call.begin(), call.end('timeout'), call.resolve('failed')];
  await Promise.all(entries.map((entry) => ledger.journal.append(entry)));
  expect(ledger.journal.readCall('s', 'c')?.version).toBe(entries.length);
  expect(ledger.claims.findUnsettledEffects('s', 'send_mail', 'x')).toEqual([]);
  await ledger.close();
});

test('other work in the same commit finds the entries before it', async () => {
  const path = newPath();
  const database = await openLedgerFile(path, false);
  const files = new SqliteOwnFiles(path, []);
  const { writer } = createWriteParts(
    database,
    { path, ownerId: 'own_1', files, longestTail: 100, log: new LogState() },
    { committed: () => undefined },
  );
  const order = createAppendOrder(new SampleCall('c').whole(), 'own_1', () => 'salt');
  const [, found] = await Promise.all([
    writer.order(order),
    writer.run(() => database.prepare('SELECT count(*) FROM entries').pluck().get()),
  ]);
  expect(found).toBe(1);
  database.close();
});

test('rows of a transaction that was rolled back are not written later', () => {
  const database = openDatabase(':memory:');
  database.exec('CREATE TABLE words (position, word)');
  const inserts = new RowInserts<readonly [number, string]>(database, 'words', 2);
  const add = (position: number): void => inserts.add([position, 'word']);
  const count = database.prepare('SELECT count(*) FROM words').pluck();
  add(1);
  inserts.forget();
  inserts.flush();
  expect(count.get()).toBe(0);
  for (let position = 1; position <= 21; position++) add(position);
  expect(count.get()).toBe(16);
  inserts.flush();
  expect(count.get()).toBe(21);
  database.close();
});
