import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Database } from './database.ts';
import {
  fromSqlText,
  isBusy,
  isDamaged,
  isForeign,
  isMissing,
  isNoDatabase,
  isRefusedValue,
  openDatabase,
  openImage,
  toSqlText,
} from './database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-database-'));
const opened: Database[] = [];
let count = 0;
const newPath = (): string => join(folder, `${count++}.db`);
function open(...args: Parameters<typeof openDatabase>): Database {
  const database = openDatabase(...args);
  opened.push(database);
  return database;
}
afterEach(() => {
  for (const database of opened.splice(0)) database.close();
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
});

function errorOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return expect.unreachable('it must throw');
}

describe('a file', () => {
  test('has the name that was asked for, whatever is in it', () => {
    for (const name of ['a b?c#d%41é+&=.db', 'x%3Fmode=memory', "q'uote\\back", 'file:url?mode=ro']) {
      const path = join(folder, name);
      open(path).exec('CREATE TABLE t (v)');
      expect(statSync(path).size).toBeGreaterThan(0);
      expect(open(path, { mustExist: true }).prepare('SELECT * FROM t').all()).toEqual([]);
    }
  });

  test('is opened by a relative path, even one that looks like a URL', () => {
    const before = process.cwd();
    process.chdir(folder);
    try {
      open('file:relative.db?mode=memory').exec('CREATE TABLE t (v)');
    } finally {
      process.chdir(before);
    }
    expect(statSync(join(folder, 'file:relative.db?mode=memory')).size).toBeGreaterThan(0);
  });

  test.skipIf(process.platform === 'win32')('is readable only by its owner, log included', () => {
    const path = newPath();
    const database = open(path);
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (v)');
    expect(['', '-wal', '-shm'].map((end) => statSync(path + end).mode & 0o777)).toEqual([
      0o600, 0o600, 0o600,
    ]);
  });

  test('that must exist is not created', () => {
    const path = newPath();
    for (const options of [{ mustExist: true }, { readOnly: true }])
      expect(isMissing(errorOf(() => open(path, options)))).toBe(true);
    expect(isMissing(errorOf(() => open(join(folder, 'none', 'l.db'))))).toBe(true);
    expect(existsSync(path)).toBe(false);
  });

  test('that is not a database says so', () => {
    const path = newPath();
    writeFileSync(path, 'a text that is no database, and long enough to be read as one'.repeat(20));
    const error = errorOf(() => open(path, { mustExist: true }).pragma('schema_version'));
    expect([isNoDatabase(error), isDamaged(error), isBusy(error)]).toEqual([true, true, false]);
  });

  test('that another connection has locked is reported at once', () => {
    const path = newPath();
    open(path).exec('CREATE TABLE t (v); BEGIN EXCLUSIVE');
    const other = open(path, { mustExist: true });
    expect(other.pragma('busy_timeout', { simple: true })).toBe(0);
    expect(isBusy(errorOf(() => other.exec('BEGIN IMMEDIATE')))).toBe(true);
    expect(other.inTransaction).toBe(false);
  });

  test('in memory is a copy that cannot be written', () => {
    const path = newPath();
    const database = open(path);
    database.exec('CREATE TABLE t (v); INSERT INTO t VALUES (1)');
    const image = openImage(readFileSync(path));
    opened.push(image);
    expect([image.memory, database.memory]).toEqual([true, false]);
    expect(image.prepareValue('SELECT v FROM t').all()).toEqual([1]);
    expect(() => image.exec('INSERT INTO t VALUES (2)')).toThrow(/readonly/);
  });
});

describe('a value', () => {
  const read = (sql: string, ...values: (string | number | Uint8Array | null)[]): unknown =>
    open('')
      .prepareValue(sql)
      .get(...values);

  test('reads back as it was bound', () => {
    for (const value of ['', 'a\u0000b', 'é\u{1f600}', 0, 1.5, 2 ** 53 - 1, 1 - 2 ** 53, null])
      expect(read('SELECT ?', value)).toBe(value);
    for (const bytes of [new Uint8Array(0), new Uint8Array([0, 255]), Buffer.from('ab')])
      expect(read('SELECT ?', bytes)).toEqual(new Uint8Array(bytes));
  });

  test('that is a name survives, even with lone surrogates', () => {
    const names = ['', '\ud800', 'a\udc00b', '\u0001"', 'plain', '\u0000'];
    expect(names.map((name) => fromSqlText(String(read('SELECT ?', toSqlText(name)))))).toEqual(names);
  });

  test('that is not a safe integer is damage, and never a BigInt', () => {
    const statement = open('').prepare(`SELECT 9007199254740993 AS n`);
    const reads = [
      () => statement.get(),
      () => statement.all(),
      () => [...statement.iterate()],
      () => read('SELECT -9007199254740993'),
    ];
    for (const act of reads) expect(errorOf(act)).toMatchObject({ code: 'ledger.damaged' });
  });

  test('that a column or a statement refuses is recognized', () => {
    const database = open('');
    database.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL)');
    const insert = database.prepare('INSERT INTO t VALUES (?, ?)');
    insert.run(1, 'one');
    for (const act of [
      () => insert.run(1, 'again'),
      () => insert.run('x', 'name'),
      () => insert.run(2, null),
      // A caller in plain JavaScript may pass this.
      () => insert.run(2, undefined as unknown as string),
    ])
      expect(isRefusedValue(errorOf(act))).toBe(true);
    expect(insert.run(3, 'three')).toMatchObject({ changes: 1 });
    expect(isForeign(errorOf(() => database.prepare('SELECT missing FROM t')))).toBe(true);
  });
});

describe('a statement', () => {
  function fill(path = newPath()): Database {
    const database = open(path);
    database.exec('CREATE TABLE t (v); INSERT INTO t VALUES (1), (2), (3)');
    return database;
  }

  test('that was left in the middle keeps no lock', () => {
    const path = newPath();
    const database = fill(path);
    for (const value of database.prepareValue('SELECT v FROM t').iterate()) {
      expect(value).toBe(1);
      break;
    }
    const other = open(path, { mustExist: true });
    other.exec('BEGIN EXCLUSIVE; DELETE FROM t; COMMIT');
    expect(database.prepareValue('SELECT count(*) FROM t').get()).toBe(0);
  });

  test('reads on while the same connection writes', () => {
    const database = fill();
    const insert = database.prepare('INSERT INTO t VALUES (?)');
    const seen: unknown[] = [];
    for (const value of database.prepareValue('SELECT v FROM t WHERE v < 10').iterate()) {
      seen.push(value);
      insert.run(10);
    }
    expect(seen).toEqual([1, 2, 3]);
  });

  test('ends with an error if its database is closed meanwhile', () => {
    const database = fill();
    const rows = database.prepareValue('SELECT v FROM t').iterate();
    rows.next();
    database.close();
    expect(() => rows.next()).toThrow(/finalized|not open/);
    expect([database.open, database.inTransaction]).toEqual([false, false]);
    database.close();
  });
});

describe('a transaction', () => {
  test('is rolled back if its work throws, and nothing else is', () => {
    const database = open('');
    database.exec('CREATE TABLE t (v)');
    const add = (value: number): unknown => database.prepare('INSERT INTO t VALUES (?)').run(value);
    const values = (): unknown[] => database.prepareValue('SELECT v FROM t').all();
    expect(database.transaction(() => [add(1), 'result'][1])).toBe('result');
    const failing = (): unknown =>
      database.transaction(() => {
        add(2);
        throw new Error('no');
      });
    expect(failing).toThrow('no');
    expect([values(), database.inTransaction]).toEqual([[1], false]);
    database.exec('BEGIN');
    add(3);
    expect(failing).toThrow('no');
    expect(database.inTransaction).toBe(true);
    database.exec('ROLLBACK');
    expect(values()).toEqual([1]);
  });
});

test('a statement that failed while it was iterated works again with the next values', () => {
  const database = open('');
  const statement = database.prepareValue<string>(`SELECT json_extract(?, '$.a')`);
  expect(() => [...statement.iterate('{')]).toThrow('malformed JSON');
  expect([...statement.iterate('{"a":"b"}')]).toEqual(['b']);
});
