/** Group commit: how a failing job, or a commit whose answer is lost, affects the other jobs. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { SampleCall } from '../../testing/sample-call.ts';
import type { Database, SqlValue } from './database.ts';
import { openDatabase } from './database.ts';
import { openLedgerFile } from './open-file.ts';
import { measuredTuning } from './sqlite-ledger-options.ts';
import { SqliteLedger } from './sqlite-ledger.ts';
import type { OtherWriter } from './writer.ts';
import { Writer } from './writer.ts';

/** The index is written often. */
const tuning = { ...measuredTuning, writerThread: 'never', longestTail: 4 } as const;

const open: { ledger: SqliteLedger; folder: string }[] = [];
afterEach(async () => {
  for (const { ledger, folder } of open.splice(0)) {
    await ledger.close();
    rmSync(folder, { recursive: true });
  }
});

/** A disturbance of a commit: `before` it, in place of it if that throws, and `after` it. */
type Fault = { before?: () => void; after?: () => void };

/** A ledger on a real file whose commits can be disturbed. `head` runs before the head of a session is written. */
async function openDisturbed(head: () => void = () => undefined): Promise<{
  ledger: SqliteLedger;
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
  // Only the statements that commit and write a head are replaced; everything else is the real database.
  database.prepare = ((sql: string) => {
    const statement = prepare(sql);
    if (sql.startsWith('UPDATE sessions SET sequence'))
      return {
        run: (...values: SqlValue[]) => {
          head();
          return statement.run(...values);
        },
      };
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
  const ledger = new SqliteLedger(database, path, {}, tuning);
  open.push({ ledger, folder });
  return { ledger, path, fault, commits: () => commits };
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
  test('with one failing job keeps all the others, and reports each result separately', async () => {
    const { ledger, fault, commits } = await openDisturbed();
    // The batch fails as a whole; then each job runs alone, and the second one fails again.
    const refused = new Error('database or disk is full');
    let tries = 0;
    fault.before = () => {
      tries++;
      if (tries === 1 || tries === 3) throw refused;
    };
    const ends = await Promise.allSettled(['a', 'b', 'c'].map((id) => ledger.journal.append(whole(id))));
    expect(ends).toEqual([
      { status: 'fulfilled', value: { status: 'appended', version: 1 } },
      { status: 'rejected', reason: refused },
      { status: 'fulfilled', value: { status: 'appended', version: 1 } },
    ]);
    expect(['a', 'b', 'c'].map((id) => ledger.journal.readCall(id, id) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
    expect(commits()).toBe(2);
  });

  test('is written together again once the jobs that failed together are done', async () => {
    const { ledger, fault, commits } = await openDisturbed();
    fault.before = failing(new Error('once'));
    await Promise.all(['a', 'b', 'c'].map((id) => ledger.journal.append(whole(id))));
    expect(commits()).toBe(3);
    await Promise.all(['d', 'e', 'f'].map((id) => ledger.journal.append(whole(id))));
    expect(commits()).toBe(4);
  });
});

describe('a commit', () => {
  test('that failed only in its answer counts: every caller sees success, and nothing is written twice', async () => {
    const { ledger, fault, commits } = await openDisturbed();
    fault.after = failing(new Error('disk I/O error'));
    const ends = await Promise.all(['a', 'b'].map((id) => ledger.journal.append(whole(id))));
    expect(ends).toEqual([
      { status: 'appended', version: 1 },
      { status: 'appended', version: 1 },
    ]);
    expect(commits()).toBe(1);
    expect(ledger.entries.read({ limit: 10 }).map(({ sessionId }) => sessionId)).toEqual(['a', 'b']);
    // Later entries are appended after it, not in its place.
    expect(await ledger.journal.append(whole('c'))).toMatchObject({ status: 'appended' });
    expect(ledger.entries.read({ limit: 10 }).map(({ sessionId }) => sessionId)).toEqual(['a', 'b', 'c']);
  });

  test('that failed leaves nothing behind, and the next one is written', async () => {
    const { ledger, fault } = await openDisturbed();
    fault.before = failing(new Error('disk I/O error'));
    await expect(ledger.journal.append(whole('a'))).rejects.toThrow('disk I/O error');
    expect(ledger.journal.readCall('a', 'a')).toBeUndefined();
    expect(await ledger.journal.append(whole('a'))).toEqual({ status: 'appended', version: 1 });
    expect(ledger.entries.read({ limit: 10 })).toHaveLength(1);
  });

  test('that the disk refused stays refused if the disk refuses the one that overwrites it as well', async () => {
    const { ledger, fault, commits } = await openDisturbed();
    const refuse = (code: string): Error => new BetterSqlite3.SqliteError('disk I/O error', code);
    const first = refuse('SQLITE_IOERR_FSYNC');
    fault.before = failing(first, refuse('SQLITE_IOERR_WRITE'));
    await expect(ledger.journal.append(whole('a'))).rejects.toBe(first);
    expect(commits()).toBe(0);
    expect(await ledger.journal.append(whole('a'))).toEqual({ status: 'appended', version: 1 });
  });
});

test('a batch that failed while it wrote the index leaves no row of the index behind', async () => {
  const { ledger } = await openDisturbed(failing(new Error('disk I/O error')));
  const calls = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => new SampleCall(id, { sessionId: 's' }).whole());
  const ends = await Promise.allSettled(calls.map((entry) => ledger.journal.append(entry)));
  expect(ends.map(({ status }) => status)).toEqual(calls.map(() => 'fulfilled'));
  expect(calls.map(({ callId }) => ledger.journal.readCall('s', callId ?? '')?.version)).toEqual(
    calls.map(() => 1),
  );
  const findings: unknown[] = [];
  for await (const finding of ledger.integrity.inspect(new AbortController().signal)) findings.push(finding);
  expect(findings).toEqual([]);
});

test('a writer that finds the lock taken waits, however long its own process has lived', async () => {
  const aged = performance.now.bind(performance);
  const now = vi.spyOn(performance, 'now').mockImplementation(() => aged() + 3_600_000);
  const { ledger, path } = await openDisturbed();
  const other = openDatabase(path, { mustExist: true });
  try {
    other.exec('BEGIN IMMEDIATE');
    const appended = Promise.resolve(ledger.journal.append(whole('a')));
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
  /** Writes ten batches after the given one, and counts the pauses between them. */
  async function countPauses(
    first: (writer: Writer, other: { isWanted: boolean }) => Promise<unknown>,
  ): Promise<number> {
    const database = openDatabase(':memory:');
    let isChanged = true;
    const events = {
      entering: () => undefined,
      began: () => {
        const wasChanged = isChanged;
        isChanged = false;
        return wasChanged;
      },
      ending: () => undefined,
      committed: () => undefined,
      rolledBack: () => undefined,
    };
    const perform = (): never => {
      throw new Error('There are no orders here.');
    };
    const executor = { perform, flush: () => undefined, isKept: () => false };
    const writer = new Writer(database, events, () => executor);
    const thread = { isWanted: false };
    writer.shareWith(toOther(thread));
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    try {
      await first(writer, thread);
      for (let batch = 0; batch < 10; batch++) await writer.run(() => batch);
      return timers.mock.calls.filter(([, delayMs]) => delayMs === 1).length;
    } finally {
      timers.mockRestore();
      now.mockRestore();
      await writer.close();
      database.close();
    }
  }

  /** Answers each job at once, as the thread does after its commit. */
  const toOther = (thread: { readonly isWanted: boolean }): OtherWriter => ({
    isWanted: () => thread.isWanted,
    isBusy: false,
    isAwaited: false,
    send: (queue) => {
      for (const job of queue) job.resolve();
      return queue.length;
    },
    noteOwnBatch: () => undefined,
    close: () => Promise.resolve(),
  });

  test('pauses now and then, so that another process gets its turn', async () => {
    expect(await countPauses((writer) => writer.run(() => 0))).toBeGreaterThan(0);
  });

  test('does not pause for the other thread of its own process', async () => {
    const pauses = await countPauses(async (writer, thread) => {
      thread.isWanted = true;
      await writer.run(() => 0);
      thread.isWanted = false;
    });
    expect(pauses).toBe(0);
  });
});
