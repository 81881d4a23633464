import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { MadeEntry } from '../../../test/make-ledger.ts';
import { makeEntries } from '../../../test/make-ledger.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import { Appender } from './appender.ts';
import { CursorTable } from './cursor-table.ts';
import type { Database } from './database.ts';
import { openDatabase } from './database.ts';
import { EntryTable } from './entry-table.ts';
import { Heads } from './heads.ts';
import { Marks } from './marks.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import { SideTables } from './side-tables.ts';
import { ReadSnapshot } from './read-snapshot.ts';
import { Writer } from './writer.ts';

let folder: string;
let path: string;
let mine: Database;
let others: Database;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-snapshot-'));
  path = join(folder, 'ledger.db');
});
afterEach(() => {
  mine.close();
  others.close();
  rmSync(folder, { recursive: true });
});

const [first, ...later] = makeEntries([
  { session: 's', call: 'a', story: 'write' },
  { session: 's', call: 'b', story: 'write' },
]) as [MadeEntry, ...MadeEntry[]];

/** A fully indexed ledger, open twice. */
async function open(): Promise<void> {
  const ledger = await openSqliteLedger(path, {}, { longestTail: 1 });
  await ledger.journal.append(first);
  await ledger.close();
  [mine, others] = [openDatabase(path), openDatabase(path)];
}

/** An append and its indexing by another process in one commit. Neither process must have to wait for the other. */
function appendElsewhere(): void {
  const heads = new Heads(others, 1);
  const marks = new Marks(others, new EntryTable(others, heads));
  const side = new SideTables(others, heads, marks, () => undefined);
  const nothing = (): void => undefined;
  const writer = new Writer(
    others,
    { entering: nothing, began: () => false, ending: nothing, committed: nothing, rolledBack: nothing },
    () => expect.unreachable(),
  );
  const appender = new Appender(others, heads, side, marks, new CursorTable(others, writer, 'own_other'));
  others.exec('BEGIN IMMEDIATE');
  heads.refreshNow();
  for (const entry of later) {
    const head = heads.take(entry.sessionId);
    const version = heads.versionOf(head, entry.callId ?? '') + 1;
    const written = writeEntry(entry, 'own_other', () => 'salt');
    appender.insert(head, entry.callId, version, written);
  }
  heads.indexTail();
  others.exec('COMMIT');
}

describe('data read without a pause', () => {
  test('is of one moment, even if another process appends and indexes in between', async () => {
    await open();
    const heads = new Heads(mine, 4_096);
    heads.refresh();
    appendElsewhere();
    const head = heads.find('s');
    expect(head && [heads.versionOf(head, 'a'), heads.versionOf(head, 'b')]).toEqual([1, 0]);
    await Promise.resolve();
    heads.refresh();
    const now = heads.find('s');
    expect(now && heads.versionOf(now, 'b')).toBeGreaterThan(0);
  });

  test('is of one moment, even if another process removes it in between', async () => {
    await open();
    const heads = new Heads(mine, 4_096);
    const entries = new EntryTable(mine, heads);
    heads.refresh();
    const head = heads.find('s');
    const positions = head && heads.positionsOf(head, 'a');
    expect(positions).toEqual([1]);
    for (const table of ['entries', 'entry_index', 'sessions']) others.exec(`DELETE FROM ${table}`);
    others.exec('UPDATE ledger SET indexed = 1, removals = removals + 1');
    expect(head && entries.readCall(head, 'a')?.version).toBe(1);
    await Promise.resolve();
    heads.refresh();
    expect(heads.find('s')).toBeUndefined();
  });
});

describe('a snapshot', () => {
  test('ends no transaction but its own', async () => {
    await open();
    const snapshot = new ReadSnapshot(mine);
    mine.exec('BEGIN IMMEDIATE');
    snapshot.begin();
    snapshot.end();
    expect(mine.inTransaction).toBe(true);
    mine.exec('ROLLBACK');
    snapshot.begin();
    expect(mine.inTransaction).toBe(true);
    snapshot.end();
    snapshot.end();
    expect(mine.inTransaction).toBe(false);
  });

  test('is over when the file was closed in it', async () => {
    await open();
    const heads = new Heads(mine, 4_096);
    heads.refresh();
    mine.close();
    expect(() => heads.endSnapshot()).not.toThrow();
  });

  test('does not keep erased text in the log of the file', async () => {
    await open();
    const ledger = await openSqliteLedger(path);
    const [done = first] = makeEntries([{ session: 'done', call: 'c', story: 'denied' }]);
    const [other = first] = makeEntries([{ session: 'other', call: 'c', story: 'denied' }]);
    await ledger.journal.append(done);
    const erased = ledger.retention.erase({ sessionId: 'done', by: 'ada', reason: 'asked for' });
    const reads = ledger.journal.append(other).then(async () => {
      // Snapshots follow each other without a gap while the log is emptied.
      for (let round = 0; round < 1_000; round++) {
        ledger.journal.readCall('other', 'c');
        await Promise.resolve();
      }
    });
    expect(await erased).toBe(1);
    await reads;
    await ledger.close();
  });

  test('is not left open by a failed read', async () => {
    await open();
    const heads = new Heads(mine, 4_096);
    others.exec('DELETE FROM ledger');
    expect(() => heads.refresh()).toThrow(/its own row is missing/);
    expect(mine.inTransaction).toBe(false);
  });
});
