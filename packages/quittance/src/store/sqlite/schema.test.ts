import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isBusy, openDatabase, prepareRow } from './database.ts';
import { entriesOfCall } from './entry-table.ts';
import { prepareSchema } from './schema.ts';

test('a file that another process is turning into a ledger is not mistaken for a foreign database', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-schema-'));
  const path = join(folder, 'ledger.db');
  const [mine, others] = [openDatabase(path), openDatabase(path)];
  // A new file is made before the first `await`.
  const makeIt = async (): Promise<void> => {
    try {
      await prepareSchema(others, path);
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
  };
  const made: Promise<void>[] = [];
  // The other process acts between our two reads.
  const read = mine.pragma.bind(mine);
  mine.pragma = (source, options) => {
    const found: unknown = read(source, options);
    if (source === 'user_version') made.push(makeIt());
    return found;
  };
  try {
    await prepareSchema(mine, path);
    await makeIt();
    await Promise.all(made);
    expect(others.pragma('user_version', { simple: true })).toBe(read('user_version', { simple: true }));
  } finally {
    mine.close();
    others.close();
    rmSync(folder, { recursive: true });
  }
});

test('a call is read by its own index, however long its session is', async () => {
  const database = openDatabase(':memory:');
  try {
    await prepareSchema(database, ':memory:');
    const plan = prepareRow<{ readonly detail: string }>(database, `EXPLAIN QUERY PLAN ${entriesOfCall}`);
    expect(plan.all(1, 'call').map(({ detail }) => detail)).toContainEqual(
      expect.stringContaining('USING INDEX entries_by_call (session=? AND call=?)'),
    );
  } finally {
    database.close();
  }
});
