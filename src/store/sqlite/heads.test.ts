import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeEntries } from '../../../test/make-ledger.ts';
import { openDatabase } from './database.ts';
import { Heads } from './heads.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';

test('entries that another connection indexed before they were read keep what is known of their session', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-heads-'));
  const path = join(folder, 'ledger.db');
  const ledger = await openSqliteLedger(path, {}, { longestTail: 40 });
  const append = async (from: number, until: number): Promise<void> => {
    for (let call = from; call < until; call++)
      for (const session of ['s', ...(call < 20 ? [] : ['later'])])
        for (const entry of makeEntries([{ session, call: `call-${call}`, story: 'read' }]))
          await ledger.journal.append(entry);
  };
  await append(0, 10);
  const database = openDatabase(path);
  const heads = new Heads(database, Number.POSITIVE_INFINITY);
  heads.refreshNow();
  const known = heads.find('s');
  expect([known?.knowsAll, heads.indexed]).toEqual([true, 0]);
  await append(10, 60);
  heads.refreshNow();
  expect(heads.indexed).toBeGreaterThan(40);
  expect(heads.find('s')).toBe(known);
  // A session that began meanwhile is read from its row and its index.
  for (const [session, first] of [
    ['s', 0],
    ['later', 20],
  ] as const) {
    const head = heads.find(session);
    if (head === undefined) throw new Error(`no session ${session}`);
    expect(head.sequence).toBe(60 - first);
    for (let call = first; call < 60; call++) expect(heads.versionOf(head, `call-${call}`)).toBe(1);
    expect(heads.positionsIn(head, 0, 1_000)).toHaveLength(60 - first);
    // Counts the index of a session that is not known from its start.
    expect(heads.versionOf(head, 'unknown')).toBe(0);
  }
  database.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
});
