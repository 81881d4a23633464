/** Entries of one commit are inserted together. What else the commit does must find them all the same. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Plan, Story } from '../../../../../test/make-ledger.ts';
import { makeEntries, stories } from '../../../../../test/make-ledger.ts';
import { SampleCall } from '../../testing/sample-call.ts';
import type { Database } from './database.ts';
import { openDatabase, RowInserts } from './database.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import { findUnsettledEffects } from '../../ledger/reads.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const newPath = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-inserts-'));
  folders.push(folder);
  return join(folder, 'ledger.db');
};

const tables = ['entries', 'sessions', 'claims', 'counters', 'states', 'unsettled', 'marks'];
const readTables = (database: Database): unknown[] =>
  tables.map((table) => database.prepare(`SELECT * FROM ${table}`).all());

test('a commit of many entries stores the same as many commits', async () => {
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
    const ledger = await openSqliteLedger(path);
    const results =
      path === together
        ? await Promise.all(entries.map((entry) => ledger.append(entry)))
        : await entries.reduce<Promise<unknown[]>>(
            async (before, entry) => [...(await before), await ledger.append(entry)],
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
});

test('an order that reads a call of the same commit finds its entries', async () => {
  const ledger = await openSqliteLedger(newPath());
  const call = new SampleCall('c', { sessionId: 's' });
  const entries = [call.begin(), call.end('timeout'), call.resolve('failed')];
  await Promise.all(entries.map((entry) => ledger.append(entry)));
  expect((await ledger.readCall('s', 'c'))?.version).toBe(entries.length);
  expect(await findUnsettledEffects(ledger, 's', 'send_mail', 'x')).toEqual([]);
  await ledger.close();
});

test('other work in the same commit finds the entries before it', async () => {
  const ledger = await openSqliteLedger(newPath());
  const [, place, erased] = await Promise.all([
    ledger.append(new SampleCall('c', { sessionId: 's', input: { note: 'x' } }).whole()),
    ledger.setCursor({ name: 'reader', expected: undefined, next: { position: 0, holder: 'h' } }),
    ledger.append(new SampleCall('d', { sessionId: 's' }).whole()),
  ]);
  expect([place, erased]).toEqual([true, { status: 'appended', version: 1 }]);
  expect((await ledger.readEntries({ limit: 10 })).map(({ sequence }) => sequence)).toEqual([1, 2]);
  await ledger.close();
});

test('rows of a transaction that was rolled back are not written later', () => {
  const database = openDatabase(':memory:');
  database.exec('CREATE TABLE words (position, word)');
  const inserts = new RowInserts<readonly [number, string]>(database, 'words', 2);
  const add = (position: number): void => inserts.add([position, 'word']);
  const count = database.prepareValue('SELECT count(*) FROM words');
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
