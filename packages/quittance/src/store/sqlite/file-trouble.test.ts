/** Disk failures reach a caller as our own errors, and one failure does not make a ledger unusable. */
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openLedger } from '../open-ledger.ts';
import { listOwners } from './owner-lock.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import { Writer } from './writer.ts';
import type { Database } from './database.ts';
import { openBare } from '../../../../../test/bare-database.ts';

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
      const file = join(`${path}.${kind}`, ledger.ownerId);
      rmSync(file);
      mkdirSync(file);
    }
    await ledger.close();
    for (const kind of ['spill', 'owners'])
      rmSync(join(`${path}.${kind}`, ledger.ownerId), { recursive: true });
    const next = await openSqliteLedger(path);
    expect(listOwners(`${path}.owners`)).toEqual([next.ownerId]);
    await next.close();
  });
});

describe('a commit whose flush failed', () => {
  /** SQLITE_IOERR_FSYNC */
  const flushFailed = 1_034;

  /** A database whose first commit fails as it does when the log was written and could not be flushed. */
  function openFailing(path: string): { database: Database; log: string[] } {
    const database = openBare(path);
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
            if (commits++ === 0) throw Object.assign(new Error('disk I/O error'), { errcode: flushFailed });
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
      answered: () => undefined,
    };
    const writer = new Writer(database, events);
    const insert = database.prepare('INSERT INTO t VALUES (1)');
    await writer
      .run(() => insert.run())
      .catch((error: unknown) => log.push(String((error as Error).message)));
    expect(log).toEqual(['committed something else', 'disk I/O error']);
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(logBytes);
    expect(database.prepareValue('SELECT count(*) FROM t').get()).toBe(0);
    database.close();
  });
});
