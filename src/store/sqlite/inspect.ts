/**
 * Compares everything in a ledger file except the chains with the entries: the tables themselves, the index, marks,
 * cursors and read tables. The verification of any ledger compares the chains and the state outside entries.
 *
 * 1. Nothing is written. The ledger and its read tables are read as of one moment, through separate connections.
 * 2. Nothing is trusted. Unreadable data is a finding, and the inspection continues.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { StoreFinding } from '../../ledger/store-finding.ts';
import type { Database } from './database.ts';
import { isBusy, prepareRow, prepareValue } from './database.ts';
import type { TableFinding } from './table-finding.ts';
import { adviseRebuild } from './table-finding.ts';
import { inspectCursors, inspectLedgerRow, inspectSessions } from './inspect-rows.ts';
import { inspectColumns, inspectIndex } from './inspect-index.ts';
import { inspectMarks } from './inspect-marks.ts';
import { inspectReadTables } from './inspect-read-tables.ts';
import { inspectTypes } from './inspect-types.ts';
import { openToRead } from './open-to-read.ts';
import { readTablesSchema, readTablesVersion } from './read-schema.ts';
import { compareSchema, findOddInternals, readSchema } from './compare-schema.ts';
import { isCheckOfKeys, isKeyRing, passKeyCheck } from '../../ledger/key-ring.ts';
import { findLedgerId, readKeyCheck } from './key-check.ts';
import { sealKeyBytes } from './seal-key-file.ts';
import { ledgerSchema, lookAtSchema, versionOf } from './schema.ts';

export async function* inspectFile(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<StoreFinding, void, undefined> {
  const tablesPath = `${path}.read`;
  // Before the ledger, so that they cannot be ahead of it.
  const tables = existsSync(tablesPath) ? openSafely(tablesPath, () => undefined) : undefined;
  const ledger = openSafely(path, (database) => lookAtSchema(database, path));
  try {
    if (typeof ledger === 'string') {
      yield problem({
        kind: 'file',
        message: `The ledger cannot be read: ${ledger}. Restore a backup.`,
      });
      return;
    }
    const version = versionOf(ledger);
    const steps: readonly (() => Iterable<TableFinding>)[] = [
      () => checkPages(ledger, 'The ledger file'),
      () => inspectLedgerRow(ledger),
      () => inspectSessions(ledger),
      () => inspectTypes(ledger, tableNames(version)),
      () => inspectColumns(ledger),
      () => inspectIndex(ledger),
      () => (version < marksVersion ? [] : inspectMarks(ledger)),
      () => inspectCursors(ledger),
    ];
    yield* compareTables(ledger, ledgerSchema(version), 'file');
    yield* checkKey(ledger, path);
    for (const step of steps) {
      if (signal.aborted) return;
      yield* guarded(step);
      await new Promise(setImmediate);
    }
    if (tables === undefined || signal.aborted) return;
    if (typeof tables === 'string') {
      yield problem({
        kind: 'read_table',
        message: `The read tables cannot be read: ${tables}. ${adviseRebuild}`,
      });
      return;
    }
    if (versionOf(tables) !== readTablesVersion) {
      const message = 'The read tables are from another version; the next query rebuilds them.';
      yield { kind: 'read_table', level: 'note', message };
      return;
    }
    yield* compareTables(tables, readTablesSchema(), 'read_table');
    yield* guarded(() => checkPages(tables, 'The file of read tables', 'read_table'));
    try {
      for await (const found of inspectReadTables(ledger, tables, signal)) yield problem(found);
    } catch (error) {
      if (isTrouble(error)) throw error;
      yield problem({
        kind: 'read_table',
        message: `The read tables cannot be compared: ${textOf(error)}. ${adviseRebuild}`,
      });
    }
  } finally {
    for (const database of [tables, ledger])
      if (typeof database === 'object') {
        if (database.inTransaction) database.exec('ROLLBACK');
        database.close();
      }
  }
}

const marksVersion = 4;

const tableNames = (version: number): readonly string[] =>
  ledgerSchema(version).flatMap(({ type, name }) => (type === 'table' ? [name] : []));

/** A connection in a transaction that has begun to read, or the reason why there is none. */
function openSafely(path: string, prepare: (database: Database) => void): Database | string {
  let database: Database | undefined;
  try {
    database = openToRead(path);
    prepare(database);
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return database;
  } catch (error) {
    database?.close();
    if (isTrouble(error)) throw error;
    return textOf(error);
  }
}

function* guarded(step: () => Iterable<TableFinding>): Generator<StoreFinding, void, undefined> {
  try {
    for (const found of step()) yield problem(found);
  } catch (error) {
    if (isTrouble(error)) throw error;
    yield problem({ kind: 'file', message: `A table of the ledger cannot be read: ${textOf(error)}.` });
  }
}

function* compareTables(
  database: Database,
  expected: ReturnType<typeof ledgerSchema>,
  kind: 'file' | 'read_table',
): Generator<StoreFinding, void, undefined> {
  try {
    const { problems, notes } = compareSchema(readSchema(database), expected);
    const advice = kind === 'file' ? 'Undo the change, or restore a backup of the file.' : adviseRebuild;
    for (const message of [...problems, ...findOddInternals(database)])
      yield problem({ kind, message: `${message} ${advice}` });
    for (const message of notes) yield { kind, level: 'note', message };
  } catch (error) {
    if (isTrouble(error)) throw error;
    yield problem({ kind, message: `The list of tables cannot be read: ${textOf(error)}.` });
  }
}

/** SQLite's own findings: damaged pages, and indexes that do not list all rows of their tables. */
function* checkPages(
  database: Database,
  what: string,
  kind: TableFinding['kind'] = 'file',
): Generator<TableFinding, void, undefined> {
  const found = prepareValue<string>(database, 'PRAGMA integrity_check(10)').all();
  for (const message of found)
    if (message !== 'ok') yield { kind, message: `${what} is damaged: ${String(message)}.` };
}

/** The stored check of the seal key: one row of a known form, once the ledger has a key. */
function* checkKeyCheck(ledger: Database, hasKeyFile: boolean): Generator<TableFinding, void, undefined> {
  const rows = prepareRow<{ text: unknown }>(ledger, 'SELECT text FROM key_check').all();
  const isKnown = rows.every(({ text }) => typeof text === 'string' && isCheckOfKeys(text));
  if (isKnown && rows.length === (hasKeyFile ? 1 : Math.min(rows.length, 1))) return;
  yield {
    kind: 'file',
    message:
      `The stored check of the seal key ${rows.length === 0 ? 'is missing' : 'was changed'}. It keeps processes with ` +
      'another key away, and has no part in the calls. Restore the ledger from a backup.',
  };
}

function* checkKey(ledger: Database, path: string): Generator<StoreFinding, void, undefined> {
  const file = `${path}.key`;
  const found = statSync(file, { throwIfNoEntry: false })?.size;
  yield* guarded(() => checkKeyCheck(ledger, found !== undefined));
  if (found === undefined) return;
  // Several keys are stored as text after a rotation.
  const key = found > mostKeyBytes ? new Uint8Array(0) : new Uint8Array(readFileSync(file));
  if (isKeyRing(key)) yield* guarded(() => checkOtherKey(ledger, file, key));
  else
    yield problem({
      kind: 'file',
      message:
        `The seal key file has ${found} bytes; expected ${sealKeyBytes}. Restore it: no other key opens ` +
        'what it sealed.',
    });
}

function* checkOtherKey(ledger: Database, file: string, key: Uint8Array): Generator<TableFinding> {
  const check = readKeyCheck(ledger);
  const ledgerId: unknown = findLedgerId(ledger);
  if (
    check === undefined ||
    typeof ledgerId !== 'string' ||
    ledgerId === '' ||
    passKeyCheck(key, ledgerId, String(check))
  )
    return;
  yield {
    kind: 'file',
    message:
      `${file} is not the seal key that the processes of this ledger used. Restore the file from your secrets. ` +
      'If it is lost: quittance rotate-key --lost',
  };
}

const mostKeyBytes = 65_536;

const problem = (found: TableFinding): StoreFinding => ({ ...found, level: 'problem' });

/** Says nothing about the file, which may be intact. */
const isTrouble = (error: unknown): boolean =>
  isBusy(error) || /^(SQLITE_IOERR_(?!SHORT|CORRUPT)|EACCES|EPERM|EMFILE|ENFILE|EIO)/.test(codeOf(error));

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code ?? '');

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
