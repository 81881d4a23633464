/** Disk failures reach a caller as our own errors, and one failure does not make a ledger unusable. */
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { afterAll, describe, expect, test } from 'vitest';
import { SampleCall } from '../../testing/sample-call.ts';
import { openLedger } from '../open-ledger.ts';
import { listOwners } from './owner-lock.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import { Writer } from './writer.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-trouble-'));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;
function newPath(): string {
  const path = join(folder, `l${count++}`, 'ledger.db');
  mkdirSync(dirname(path));
  return path;
}

describe('a failing disk', () => {
  test.each([
    [
      'the folder of the ledger is a file',
      (path: string) => join(path, 'below', 'ledger.db'),
      (path: string) => path,
    ],
    ['the folder of the locks is a file', (path: string) => path, (path: string) => `${path}.owners`],
  ])('gives one of our errors when a ledger is opened: %s', async (_, ledger, file) => {
    const path = newPath();
    writeFileSync(file(path), 'not a folder');
    await expect(openLedger(ledger(path))).rejects.toMatchObject({
      name: 'QuittanceError',
      code: 'ledger.unavailable',
      message: expect.stringContaining('could not be opened') as string,
    });
  });

  test('gives one of our errors when the seal key is read', async () => {
    const path = newPath();
    symlinkSync(`${path}.key`, `${path}.key`);
    const ledger = await openLedger(path);
    expect(() => ledger.sealKey).toThrow(
      expect.objectContaining({ name: 'QuittanceError', code: 'ledger.unavailable' }) as Error,
    );
    await ledger.close();
  });

  test('does not keep a ledger from closing when files cannot be removed', async () => {
    const path = newPath();
    const ledger = await openSqliteLedger(path);
    for (const kind of ['spill', 'owners']) {
      const file = join(`${path}.${kind}`, ledger.owners.ownerId);
      rmSync(file);
      mkdirSync(file);
    }
    await ledger.close();
    for (const kind of ['spill', 'owners'])
      rmSync(join(`${path}.${kind}`, ledger.owners.ownerId), { recursive: true });
    const next = await openSqliteLedger(path);
    expect(listOwners(`${path}.owners`)).toEqual([next.owners.ownerId]);
    await next.close();
  });

  test('does not break later queries after one failure to open the read tables', async () => {
    const path = newPath();
    const ledger = await openSqliteLedger(path);
    await ledger.journal.append(new SampleCall('c').whole());
    writeFileSync(`${path}.read`, 'not a database'.repeat(100));
    mkdirSync(`${path}.read-shm`);
    await expect(ledger.queries.findCalls({})).rejects.toThrow(/read-shm/);
    rmSync(`${path}.read-shm`, { recursive: true });
    expect((await ledger.queries.findCalls({})).rows).toHaveLength(1);
    await ledger.close();
  });
});

describe('a commit whose flush failed', () => {
  /** A database whose first commit fails as it does when the log was written and could not be flushed. */
  function openFailing(path: string): { database: BetterSqlite3.Database; log: string[] } {
    const database = new BetterSqlite3(path);
    database.pragma('journal_mode = WAL');
    database.exec('CREATE TABLE t (v)');
    const log: string[] = [];
    const prepare = database.prepare.bind(database);
    let commits = 0;
    Object.defineProperty(database, 'prepare', {
      value: (sql: string) => {
        const statement = prepare(sql);
        if (sql !== 'COMMIT') return statement;
        return {
          run: () => {
            if (commits++ === 0) throw new BetterSqlite3.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
            statement.run();
            log.push('committed something else');
          },
        };
      },
    });
    return { database, log };
  }

  test('[told-equals-kept] is overwritten in the log before the caller sees the refusal', async () => {
    const path = newPath();
    const { database, log } = openFailing(path);
    const logBytes = statSync(`${path}-wal`).size;
    const events = {
      entering: () => undefined,
      began: () => false,
      ending: () => undefined,
      committed: () => undefined,
      rolledBack: () => undefined,
    };
    const writer = new Writer(database, events, () => ({
      perform: () => expect.unreachable(),
      flush: () => undefined,
      isKept: () => expect.unreachable(),
    }));
    const insert = database.prepare('INSERT INTO t VALUES (1)');
    await writer
      .run(() => insert.run())
      .catch((error: unknown) => log.push(String((error as Error).message)));
    expect(log).toEqual(['committed something else', 'disk I/O error']);
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(logBytes);
    expect(database.prepare('SELECT count(*) FROM t').pluck().get()).toBe(0);
    database.close();
  });
});
