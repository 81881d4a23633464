import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeEntries } from '../../../test/make-ledger.ts';
import { openDatabase } from './database.ts';
import type { IndexedEntry } from './tail-entry.ts';
import { Heads } from './heads.ts';
import type { SessionHead } from './session-head.ts';
import { SampleCall } from '../../testing/sample-call.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import type { SqliteLedger } from './sqlite-ledger.ts';

/** Appends one-entry calls to a session, in one batch. */
const appendTo = (ledger: SqliteLedger, from: number, until: number): Promise<unknown> =>
  Promise.all(
    Array.from({ length: until - from }, (_, n) =>
      makeEntries([{ session: 's', call: `call-${from + n}`, story: 'read' }]).map((entry) =>
        ledger.journal.append(entry),
      ),
    ).flat(),
  );

test.each([
  ['a session', { ofSession: 8, inAll: 1_000 }],
  ['all sessions', { ofSession: 1_000, inAll: 8 }],
])(
  'versions forgotten for the size of %s are read from the index, those of the tail are kept',
  async (_, limits) => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-heads-'));
    const path = join(folder, 'ledger.db');
    const ledger = await openSqliteLedger(path, {}, { longestTail: 40 });
    const database = openDatabase(path);
    const heads = new Heads(database, Number.POSITIVE_INFINITY, limits);
    await appendTo(ledger, 0, 30);
    heads.refreshNow();
    await appendTo(ledger, 30, 42);
    await appendTo(ledger, 42, 49);
    heads.refreshNow();
    expect([heads.index.end, heads.position]).toEqual([42, 49]);
    const head = heads.find('s');
    if (head === undefined) throw new Error('no session');
    expect([head.knowsAll, head.versions.size]).toEqual([false, 7]);
    for (let call = 0; call < 49; call++)
      expect([call, heads.versionOf(head, `call-${call}`)]).toEqual([call, 1]);
    expect(heads.versionOf(head, 'call-49')).toBe(0);
    database.close();
    await ledger.close();
    rmSync(folder, { recursive: true });
  },
);

/** Is the index of the session, which lacks a row, checked before it is used? */
function isChecked(heads: Heads, head: SessionHead): boolean {
  try {
    return heads.versionOf(head, 'not looked up before') !== 0;
  } catch (error) {
    return (error as Error).message.includes('does not agree with its entries');
  }
}

test.each([
  ['the thread of this process', { from: 50, until: 100 }, true],
  ['another process', { from: -1, until: -1 }, false],
  ['another process, and then the thread', { from: 70, until: 100 }, false],
])('the index of a session after %s wrote it', async (_, ofThread, isTrusted) => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-heads-'));
  const path = join(folder, 'ledger.db');
  const ledger = await openSqliteLedger(path, {}, { longestTail: 40 });
  await appendTo(ledger, 0, 50);
  const database = openDatabase(path);
  const heads = new Heads(database, Number.POSITIVE_INFINITY);
  heads.refreshNow();
  const head = heads.find('s');
  if (head === undefined) throw new Error('no session');
  expect(heads.versionOf(head, 'unknown')).toBe(0);
  await appendTo(ledger, 50, 100);
  const rows = database
    .prepare<[], IndexedEntry>(
      'SELECT session, call, version, position, sequence, hash FROM entries WHERE position > 50',
    )
    .all();
  heads.ownIndex.noteThread(ofThread);
  for (const { call, version, position, sequence, hash } of rows)
    expect(heads.adopt('s', call, version, position, sequence, hash)).toBe(true);
  heads.refreshNow();
  expect([heads.index.end, heads.find('s') === head]).toEqual([100, true]);
  // Only a check finds that.
  database.exec(`DELETE FROM entry_index WHERE call = 'call-3'`);
  expect(isChecked(heads, head)).toBe(!isTrusted);
  database.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
});

test.each([
  ['takes over', 0, true],
  ['does not take over, when the index was written since,', 40, false],
])('a thread %s what the other knows of the index', async (_, later, isTrusted) => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-heads-'));
  const path = join(folder, 'ledger.db');
  const ledger = await openSqliteLedger(path, {}, { longestTail: 40 });
  await appendTo(ledger, 0, 50);
  const [database, others] = [openDatabase(path), openDatabase(path)];
  const [heads, known] = [database, others].map((each) => new Heads(each, Number.POSITIVE_INFINITY)) as [
    Heads,
    Heads,
  ];
  const checked = known.fresh().find('s');
  if (checked === undefined) throw new Error('no session');
  expect(known.versionOf(checked, 'unknown')).toBe(0);
  const { trusted } = known;
  known.endSnapshot();
  await appendTo(ledger, 50, 50 + later);
  heads.trust(trusted);
  heads.endSnapshot();
  database.exec(`DELETE FROM entry_index WHERE call = 'call-3'`);
  const head = heads.find('s');
  if (head === undefined) throw new Error('no session');
  expect(isChecked(heads, head)).toBe(!isTrusted);
  for (const each of [database, others]) each.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
});

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
  expect([known?.knowsAll, heads.index.end]).toEqual([true, 0]);
  await append(10, 60);
  heads.refreshNow();
  expect(heads.index.end).toBeGreaterThan(40);
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
    expect(heads.index.positionsIn(head, 0, 1_000)).toHaveLength(60 - first);
    // Counts the index of a session that is not known from its start.
    expect(heads.versionOf(head, 'unknown')).toBe(0);
  }
  database.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
});

test('a remark that another handle made about an indexed call does not keep the tail from the index', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-heads-'));
  const path = join(folder, 'ledger.db');
  const old = new SampleCall('old');
  const first = await openSqliteLedger(path, {}, { longestTail: 2 });
  for (const entry of [old.begin(), old.end()]) await first.journal.append(entry);
  await first.close();
  // It writes to no index, so the remark stays in the tail.
  const other = await openSqliteLedger(path, {}, { longestTail: 1_000 });
  for (const entry of [new SampleCall('new').begin(), old.recall()]) await other.journal.append(entry);
  // This handle has not used the session, and must read the version of the old call from the index.
  const ledger = await openSqliteLedger(path, {}, { longestTail: 3 });
  const elsewhere = new SampleCall('c', { sessionId: 'elsewhere' });
  expect(await ledger.journal.append(elsewhere.begin())).toEqual({ status: 'appended', version: 1 });
  const database = openDatabase(path);
  const heads = new Heads(database, Number.POSITIVE_INFINITY).fresh();
  const head = heads.find('session');
  if (head === undefined) throw new Error('no session');
  expect([heads.index.end, heads.versionOf(head, 'old'), heads.positionsOf(head, 'old')]).toEqual([
    5,
    2,
    [1, 2, 4],
  ]);
  heads.endSnapshot();
  database.close();
  await other.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
});
