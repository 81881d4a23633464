/** Group commit: how a failing job, or a commit whose answer is lost, affects the other jobs. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { AppendResult, Entry } from '../../ledger/journal.ts';
import { SampleCall } from '../../testing/sample-call.ts';
import type { Database } from './database.ts';
import { openDatabase } from './database.ts';
import { openLedgerFile } from './open-file.ts';
import { OrderWriter } from './order-writer.ts';
import { SqliteLedger } from './sqlite-ledger.ts';
import { createAppendOrder } from './write-order.ts';
import { Writer } from './writer.ts';

const open: { readonly close: () => void; ledger: SqliteLedger; folder: string }[] = [];
afterEach(async () => {
  for (const { close, ledger, folder } of open.splice(0)) {
    close();
    await ledger.close();
    rmSync(folder, { recursive: true });
  }
});

/** A disturbance of a commit: `before` it, in place of it if that throws, and `after` it. */
type Fault = { before?: () => void; after?: () => void };

/** A writer on a real file whose commits can be disturbed, and a ledger that reads what it has written. */
async function openDisturbed(): Promise<{
  ledger: SqliteLedger;
  append: (entry: Entry) => Promise<AppendResult>;
  path: string;
  fault: Fault;
  commits: () => number;
}> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-writer-'));
  const path = join(folder, 'ledger.db');
  const database = await openLedgerFile(path, false);
  const fault: Fault = {};
  let commits = 0;
  const prepare = database.prepare.bind(database) as Database['prepare'];
  // Only the statement that commits is replaced; everything else is the real database.
  database.prepare = ((sql: string) => {
    const statement = prepare(sql);
    if (sql !== 'COMMIT') return statement;
    return {
      run: () => {
        fault.before?.();
        statement.run();
        commits++;
        fault.after?.();
      },
    };
  }) as Database['prepare'];
  const events = { committed: () => undefined, metOthers: () => undefined, answered: () => undefined };
  const writer = new OrderWriter(database, { path, ownerId: 'own_1', opened: [] }, events);
  const ledger = new SqliteLedger(await openLedgerFile(path, false), path, {});
  open.push({ close: () => writer.close(), ledger, folder });
  const append = (entry: Entry): Promise<AppendResult> =>
    new Promise((resolve, reject) =>
      writer.perform(
        createAppendOrder(entry, 'own_1', () => 'salt'),
        (answer) => resolve(answer as AppendResult), // of an append
        reject,
      ),
    );
  return { ledger, append, path, fault, commits: () => commits };
}

/** Makes the next commits fail with these errors, each once. */
function failing(...errors: readonly Error[]): () => void {
  const left = [...errors];
  return () => {
    const error = left.shift();
    if (error !== undefined) throw error;
  };
}

const whole = (id: string) => new SampleCall(id, { sessionId: id }).whole();

describe('a batch', () => {
  test('a batch with one failing job keeps all the others, and reports each result separately', async () => {
    const { ledger, append, fault, commits } = await openDisturbed();
    // The batch fails as a whole; then each job runs alone, and the second one fails again.
    const refused = new Error('database or disk is full');
    let tries = 0;
    fault.before = () => {
      tries++;
      if (tries === 1 || tries === 3) throw refused;
    };
    const ends = await Promise.allSettled(['a', 'b', 'c'].map((id) => append(whole(id))));
    expect(ends).toEqual([
      { status: 'fulfilled', value: { status: 'appended', version: 1 } },
      { status: 'rejected', reason: refused },
      { status: 'fulfilled', value: { status: 'appended', version: 1 } },
    ]);
    expect(commits()).toBe(2);
    expect(
      await Promise.all(['a', 'b', 'c'].map(async (id) => (await ledger.readCall(id, id)) !== undefined)),
    ).toEqual([true, false, true]);
  });

  test('is written together again once the jobs that failed together are done', async () => {
    const { append, fault, commits } = await openDisturbed();
    fault.before = failing(new Error('once'));
    await Promise.all(['a', 'b', 'c'].map((id) => append(whole(id))));
    expect(commits()).toBe(3);
    await Promise.all(['d', 'e', 'f'].map((id) => append(whole(id))));
    expect(commits()).toBe(4);
  });
});

describe('a commit', () => {
  test('a commit that failed only in its answer counts: every caller sees success, and nothing is written twice', async () => {
    const { ledger, append, fault, commits } = await openDisturbed();
    fault.after = failing(new Error('disk I/O error'));
    const ends = await Promise.all(['a', 'b'].map((id) => append(whole(id))));
    expect(ends).toEqual([
      { status: 'appended', version: 1 },
      { status: 'appended', version: 1 },
    ]);
    expect(commits()).toBe(1);
    expect((await ledger.readEntries({ limit: 10 })).map(({ sessionId }) => sessionId)).toEqual(['a', 'b']);
    // Later entries are appended after it, not in its place.
    expect(await append(whole('c'))).toMatchObject({ status: 'appended' });
    expect((await ledger.readEntries({ limit: 10 })).map(({ sessionId }) => sessionId)).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  test('a commit that failed leaves nothing behind, and the next one is written', async () => {
    const { ledger, append, fault } = await openDisturbed();
    fault.before = failing(new Error('disk I/O error'));
    await expect(append(whole('a'))).rejects.toThrow('disk I/O error');
    expect(await ledger.readCall('a', 'a')).toBeUndefined();
    expect(await append(whole('a'))).toEqual({ status: 'appended', version: 1 });
    expect(await ledger.readEntries({ limit: 10 })).toHaveLength(1);
  });

  test('a commit that the disk refused stays refused if the disk refuses the one that overwrites it as well', async () => {
    const { append, fault, commits } = await openDisturbed();
    const refuse = (errcode: number): Error => Object.assign(new Error('disk I/O error'), { errcode });
    const [writeFailed, flushFailed] = [778, 1_034];
    const first = refuse(flushFailed);
    fault.before = failing(first, refuse(writeFailed));
    await expect(append(whole('a'))).rejects.toBe(first);
    expect(commits()).toBe(0);
    expect(await append(whole('a'))).toEqual({ status: 'appended', version: 1 });
  });
});

test('a writer that finds the lock taken waits, however long its own process has lived', async () => {
  const aged = performance.now.bind(performance);
  const now = vi.spyOn(performance, 'now').mockImplementation(() => aged() + 3_600_000);
  const { append, path } = await openDisturbed();
  const other = openDatabase(path, { mustExist: true });
  try {
    other.exec('BEGIN IMMEDIATE');
    const appended = append(whole('a'));
    let ended = false;
    void appended.catch(() => undefined).finally(() => (ended = true));
    // Enough for several tries; the other writer releases the lock only afterwards.
    for (let round = 0; round < 50; round++) await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(false);
    other.exec('ROLLBACK');
    expect(await appended).toMatchObject({ status: 'appended' });
  } finally {
    other.close();
    now.mockRestore();
  }
});

describe('a writer that finds commits of another connection', () => {
  /** Writes ten batches after another process has written, or not, and counts the pauses between them. */
  async function countPauses(metOthers: boolean): Promise<number> {
    const database = openDatabase(':memory:');
    let isChanged = metOthers;
    const nothing = (): undefined => undefined;
    const writer = new Writer(database, {
      entering: nothing,
      began: () => {
        const wasChanged = isChanged;
        isChanged = false;
        return wasChanged;
      },
      ending: nothing,
      committed: nothing,
      rolledBack: nothing,
      answered: nothing,
    });
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    try {
      for (let batch = 0; batch < 10; batch++) await writer.run(() => batch);
      return timers.mock.calls.filter(([, delayMs]) => delayMs === 1).length;
    } finally {
      timers.mockRestore();
      now.mockRestore();
      database.close();
    }
  }

  test('pauses now and then, so that another process gets its turn', async () => {
    expect(await countPauses(true)).toBeGreaterThan(0);
  });

  test('does not pause while no other process writes', async () => {
    expect(await countPauses(false)).toBe(0);
  });
});

test('a transaction that awaits is one transaction: other work comes before or after it', async () => {
  const database = openDatabase(':memory:');
  database.exec('CREATE TABLE steps (step TEXT)');
  const nothing = (): void => undefined;
  const writer = new Writer(database, {
    entering: nothing,
    began: () => false,
    ending: nothing,
    committed: nothing,
    rolledBack: nothing,
    answered: nothing,
  });
  const put = (step: string): number => database.run('INSERT INTO steps VALUES (?)', step);
  const long = async (): Promise<never> => {
    put('first');
    await new Promise(setImmediate);
    put('second');
    await new Promise(setImmediate);
    throw new Error('refused');
  };
  const [refused] = await Promise.allSettled([
    writer.run(long),
    new Promise(setImmediate).then(() => writer.run(() => put('other'))),
  ]);
  expect(refused).toMatchObject({ status: 'rejected', reason: { message: 'refused' } });
  expect(database.value<string>('SELECT step FROM steps').all()).toEqual(['other']);
  database.close();
});
