/** The log of a busy ledger: copied by a thread, and started anew by the writer. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../../test/eventually.ts';
import type { Database } from './database.ts';
import { openDatabase } from './database.ts';
import { LogKeeper } from './log-keeper.ts';
import { openLedgerFile } from './open-file.ts';
import { WriterLog } from './writer-log.ts';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type LogSize = { readonly log: number; readonly checkpointed: number };

type Opened = {
  readonly database: Database;
  readonly keeper: LogKeeper;
  readonly log: WriterLog;
  readonly size: () => LogSize;
  readonly write: (rows: number) => void;
};

async function open(ledgerId?: string): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-log-'));
  ends.push(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'ledger.db');
  const database = await openLedgerFile(path, false);
  const other = openDatabase(path, { mustExist: true });
  const found = database.prepare('SELECT ledger_id FROM ledger').pluck().get() as string;
  const keeper: LogKeeper = new LogKeeper(() => ({
    path,
    ledgerId: ledgerId ?? found,
    settings: { synchronous: 'full', maxBytes: undefined },
    logMemory: keeper.memory,
  }));
  ends.push(() => {
    database.close();
    other.close();
  });
  ends.push(() => keeper.close());
  const insert = database.prepare(`INSERT INTO sealed VALUES (1, ?, ?)`);
  let row = 0;
  return {
    database,
    keeper,
    log: new WriterLog(database, keeper.state),
    size: () => other.prepare('PRAGMA wal_checkpoint(NOOP)').get() as LogSize,
    // Each row is longer than four pages.
    write: (rows) =>
      database.transaction(() => {
        for (let written = 0; written < rows; written++) insert.run(`call_${row++}`, 'x'.repeat(35_000));
      })(),
  };
}

/** As much as counts as load. */
function makeBusy(keeper: LogKeeper): void {
  keeper.noteCommit(1);
  keeper.noteCommit(1_001);
}

const autocheckpoint = (database: Database): unknown =>
  database.pragma('wal_autocheckpoint', { simple: true });

test('a writer copies the rest of the log when that is due, and starts it anew', async () => {
  const { keeper, log, size, write } = await open();
  keeper.state.isKept = true;
  log.tidy();
  write(600);
  expect(size()).toMatchObject({ log: expect.toSatisfy((pages: number) => pages > 2_000), checkpointed: 0 });
  log.tidy();
  expect(size().checkpointed).toBe(0);
  keeper.state.isRestartDue = true;
  log.tidy();
  expect([size().checkpointed, keeper.state.isRestartDue]).toEqual([size().log, false]);
  write(1);
  expect(size().log).toBeLessThan(100);
});

test('under load a thread copies the log, and without load the thread sleeps', async () => {
  const { database, keeper, log, size, write } = await open();
  makeBusy(keeper);
  await eventually(() => expect(keeper.state.isKept).toBe(true));
  log.tidy();
  expect(autocheckpoint(database)).toBe(8_000);
  write(600);
  await eventually(() => expect(keeper.state.isRestartDue).toBe(true));
  expect(size().checkpointed).toBe(size().log);
  // Its next looks find nothing new, and it waits until there is load again.
  await eventually(() => expect(keeper.state.isAsleep).toBe(true));
  keeper.state.isRestartDue = false;
  write(600);
  keeper.noteCommit(2_000);
  await eventually(() => expect(keeper.state.isRestartDue).toBe(true));
});

test('without the thread the commits of a writer copy the log', async () => {
  const { database, keeper, log } = await open();
  makeBusy(keeper);
  await eventually(() => expect(keeper.state.isKept).toBe(true));
  log.tidy();
  await keeper.close();
  log.tidy();
  expect([keeper.state.isKept, autocheckpoint(database)]).toEqual([false, 1_000]);
});

test('a thread that finds another ledger ends, and is not started again', async () => {
  const { database, keeper, log, write } = await open('another');
  makeBusy(keeper);
  await keeper.close();
  makeBusy(keeper);
  write(1);
  log.tidy();
  expect([keeper.state.isKept, autocheckpoint(database)]).toEqual([false, 1_000]);
});

test('a few entries start no thread', async () => {
  const { keeper } = await open();
  keeper.noteCommit(1);
  keeper.noteCommit(1_000);
  await keeper.close();
  expect(keeper.state.isKept).toBe(false);
});
