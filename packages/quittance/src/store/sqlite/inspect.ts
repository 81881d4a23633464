/**
 * Compares everything in a ledger file except the chains with the entries: the tables themselves, their columns, marks,
 * cursors and the rows of lists. The verification of any ledger compares the chains and the state outside entries.
 *
 * 1. Nothing is written. Everything is read as of one moment.
 * 2. Nothing is trusted. Unreadable data is a finding, and the inspection continues.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { StoreFinding } from '../../ledger/store-finding.ts';
import type { Database, SqlValue } from './database.ts';
import { isBusy, isInputOutput, isShortRead, prepareRow, prepareValue, sqliteNames } from './database.ts';
import { readStoredName } from '../sql/driver.ts';
import type { TableFinding } from '../sql/findings.ts';
import { adviseRebuild, nameSome } from '../sql/findings.ts';
import { inspectLists } from '../sql/inspect-lists.ts';
import { inspectCursors, inspectMarks } from '../sql/inspect-marks.ts';
import { createSqliteReader, inspectDialect, markDialect } from './dialect.ts';
import { lastEntryPath, readLastEntry } from './last-entry.ts';
import { findOlder } from './open-file.ts';
import { openToRead } from './open-to-read.ts';
import { compareSchema, findOddInternals, readSchema } from './compare-schema.ts';
import { isCheckOfKeys, isKeyRing, passKeyCheck } from '../../ledger/seal.ts';
import { findLedgerId, readKeyCheck } from './key-check.ts';
import { sealKeyBytes } from './seal-key-file.ts';
import {
  indexesVersion,
  isListTable,
  ledgerSchema,
  listsVersion,
  lookAtSchema,
  versionOf,
} from './schema.ts';
import { saysWhereItStands } from './sessions.ts';
import { decode } from '../sql/entries.ts';
import { countMarks } from './marks.ts';

export async function* inspectFile(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<StoreFinding, void, undefined> {
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
    const reader = createSqliteReader(ledger);
    const steps: readonly (() => Iterable<TableFinding> | Promise<Iterable<TableFinding>>)[] = [
      () => checkPages(ledger),
      () => inspectLedgerRow(ledger),
      () => inspectSessions(ledger, version),
      () => inspectTypes(ledger, tableNames(version)),
      () => inspectColumns(ledger),
      () => (version < marksVersion ? [] : inspectMarks(reader, markDialect)),
      () => inspectCursors(reader, sqliteNames, allCursors, readLast(ledger)),
    ];
    yield* compareTables(ledger, ledgerSchema(version));
    yield* checkKey(ledger, path);
    for (const step of steps) {
      if (signal.aborted) return;
      yield* guarded(step);
      await new Promise(setImmediate);
    }
    yield* guarded(() => checkLastEntry(ledger, path));
    if (version < listsVersion || signal.aborted) return;
    try {
      if (prepareValue<number>(ledger, 'SELECT EXISTS (SELECT 1 FROM main.relisting)').get() === 1)
        yield problem({
          kind: 'read_table',
          message: `The read tables are being rebuilt, or a process that rebuilt them was ended. ${adviseRebuild}`,
        });
      else for await (const found of inspectLists(reader, inspectDialect, signal)) yield problem(found);
    } catch (error) {
      if (isTrouble(error)) throw error;
      yield problem({
        kind: 'read_table',
        message: `The read tables cannot be compared: ${textOf(error)}. ${adviseRebuild}`,
      });
    }
  } finally {
    if (typeof ledger === 'object') {
      if (ledger.inTransaction) ledger.exec('ROLLBACK');
      ledger.close();
    }
  }
}

/** The file that tells an older copy of the ledger. */
function* checkLastEntry(ledger: Database, path: string): Generator<TableFinding, void, undefined> {
  const file = lastEntryPath(path);
  const seen = readLastEntry(path);
  if (seen === undefined && existsSync(file))
    yield { kind: 'file', message: `${file} was not written by this program. The next append replaces it.` };
  if (seen !== undefined && seen.ledgerId !== findLedgerId(ledger))
    yield {
      kind: 'file',
      message: `${file} names a ledger with another id: the id was changed, or the file was replaced. Restore a backup.`,
    };
  const older = findOlder(ledger, path);
  if (older !== undefined)
    yield {
      kind: 'file',
      message:
        `The ledger once ended with ${older}: entries were cut off, or the file was replaced by an older copy. Restore a ` +
        'backup of the ledger that has them.',
    };
}

const marksVersion = 4;

const tableNames = (version: number): readonly string[] =>
  ledgerSchema(version).flatMap(({ type, name }) => (type === 'table' && !isListTable(name) ? [name] : []));

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

async function* guarded(
  step: () => Iterable<TableFinding> | Promise<Iterable<TableFinding>>,
): AsyncGenerator<StoreFinding, void, undefined> {
  try {
    for (const found of await step()) yield problem(found);
  } catch (error) {
    if (isTrouble(error)) throw error;
    yield problem({ kind: 'file', message: `A table of the ledger cannot be read: ${textOf(error)}.` });
  }
}

function* compareTables(
  database: Database,
  expected: ReturnType<typeof ledgerSchema>,
): Generator<StoreFinding, void, undefined> {
  try {
    const { problems, notes } = compareSchema(readSchema(database), expected);
    for (const message of [...problems, ...findOddInternals(database)])
      yield problem({
        kind: 'file',
        message: `${message} Undo the change, or restore a backup of the file.`,
      });
    for (const message of notes) yield { kind: 'file', level: 'note', message };
  } catch (error) {
    if (isTrouble(error)) throw error;
    yield problem({ kind: 'file', message: `The list of tables cannot be read: ${textOf(error)}.` });
  }
}

/** SQLite's own findings: damaged pages, and indexes that do not list all rows of their tables. */
function* checkPages(database: Database): Generator<TableFinding, void, undefined> {
  const found = prepareValue<string>(database, 'PRAGMA integrity_check(10)').all();
  for (const message of found)
    if (message !== 'ok') yield { kind: 'file', message: `The ledger file is damaged: ${String(message)}.` };
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

async function* checkKey(ledger: Database, path: string): AsyncGenerator<StoreFinding, void, undefined> {
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
  isBusy(error) ||
  (isInputOutput(error) && !isShortRead(error)) ||
  /^(EACCES|EPERM|EMFILE|ENFILE|EIO)/.test(codeOf(error));

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code ?? '');

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');

/**
 * Checks rows that no entry describes: the row of the ledger itself, and those of sessions.
 */

type Row = Readonly<Record<string, SqlValue>>;

const goBack = 'Restore a backup of the file, or run `quittance rebuild`.';

function* inspectLedgerRow(ledger: Database): Generator<TableFinding, void, undefined> {
  const rows = prepareRow<Row>(ledger, 'SELECT ledger_id, removals FROM ledger').all();
  const [row] = rows;
  if (row === undefined || rows.length > 1) {
    yield {
      kind: 'file',
      message: `The table "ledger" has ${rows.length} rows; expected one. ${goBack}`,
    };
    return;
  }
  const { ledger_id: id, removals } = row;
  if (typeof id !== 'string' || !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id))
    yield {
      kind: 'file',
      message: 'The id of the ledger was not written by this program. Restore a backup of the file.',
    };
  const dropped = countDropped(ledger);
  if (removals !== dropped)
    yield {
      kind: 'side_row',
      message: `${String(removals)} sessions are said to have been removed; the ledger's own chain tells of ${dropped}. ${goBack}`,
    };
  // Session numbers are never reused: each number has a row, or its session was removed.
  const sequences = prepareRow<Row>(
    ledger,
    'SELECT name, seq, typeof(seq) AS type FROM sqlite_sequence',
  ).all();
  const given = sequences.length === 0 ? 0 : sequences[0]?.['seq'];
  const listed = prepareValue<number>(ledger, 'SELECT count(*) FROM sessions').get() ?? 0;
  const isOurs =
    sequences.every(({ name, type }) => name === 'sessions' && type === 'integer') && sequences.length < 2;
  if (!isOurs || given !== listed + dropped)
    yield {
      kind: 'side_row',
      message:
        `${String(given)} sessions were created and ${dropped} removed, but ${listed} are listed: the ` +
        `rows of sessions were changed. ${goBack}`,
    };
}

function countDropped(ledger: Database): number {
  const texts = prepareValue<unknown>(
    ledger,
    `SELECT text FROM entries WHERE session = (SELECT session FROM sessions WHERE name = 'quittance.ledger')
       AND instr(text, '"session.dropped"') > 0`,
  );
  let count = 0;
  for (const text of texts.all())
    count += typeof text === 'string' ? text.split('"type":"session.dropped"').length - 1 : 0;
  return count;
}

/** Earlier versions brought the rows of sessions up to date only now and then: `ledger.indexed` says how far. */
function* inspectSessions(ledger: Database, version: number): Generator<TableFinding, void, undefined> {
  const until =
    version < indexesVersion
      ? prepareValue<number>(ledger, 'SELECT indexed FROM ledger').get()
      : prepareValue<number>(ledger, 'SELECT max(position) FROM main.entries').get();
  const ends = new Map(
    prepareRow<{ session: SqlValue; sequence: SqlValue; hash: SqlValue }>(
      ledger,
      'SELECT session, max(sequence) AS sequence, hash FROM main.entries WHERE position <= ? GROUP BY session',
    )
      .all(until ?? 0)
      .map(({ session, ...end }) => [session, end]),
  );
  const rows = prepareRow<Row>(ledger, 'SELECT session, name, sequence, hash FROM main.sessions');
  for (const { session, name, sequence, hash } of rows.iterate()) {
    const end = ends.get(session ?? null) ?? { sequence: 0, hash: null };
    const sessionId = readStoredName(sqliteNames, name);
    if (sessionId === undefined)
      yield {
        kind: 'side_row',
        message: `The name of session number ${String(session)} was not written by this program. ${goBack}`,
      };
    if (sequence !== end.sequence || hash !== end.hash)
      yield {
        kind: 'side_row',
        sessionId,
        message:
          `The row of the session says that its chain ends at ${String(sequence)}; its entries ` +
          `end at ${String(end.sequence)}, or have another hash. ${goBack}`,
      };
  }
}

const allCursors = 'SELECT name, position, holder, owner AS owner_id FROM cursors';

const readLast = (ledger: Database): number =>
  prepareValue<number>(ledger, 'SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;

/** Checks that every value has its column's type. SQLite accepts any value in any column. */

type Column = { readonly name: string; readonly type: string; readonly notnull: number; readonly pk: number };

const encodings = `'utf8', 'utf16le', 'bytes'`;

/** `tables`: the ledger's tables that have their original schema. */
function* inspectTypes(
  ledger: Database,
  tables: readonly string[],
): Generator<TableFinding, void, undefined> {
  const columnsOf = prepareRow<Column>(
    ledger,
    `SELECT name, type, "notnull", pk FROM pragma_table_info(?, 'main')`,
  );
  for (const table of tables)
    for (const column of columnsOf.all(table)) {
      const wrong = prepareValue<number>(
        ledger,
        `SELECT count(*) FROM main.${table} WHERE NOT (${conditionOf(table, column)})`,
      ).get();
      if (wrong !== undefined && wrong > 0)
        yield {
          kind: 'side_row',
          message:
            `The column "${column.name}" of the table "${table}" contains ${wrong} ` +
            `${wrong === 1 ? 'value' : 'values'} of the wrong type. Restore a backup of the file, or ` +
            'run `quittance rebuild`.',
        };
    }
}

function conditionOf(table: string, { name, type, notnull, pk }: Column): string {
  const isType = `typeof(${name}) = '${type.toLowerCase()}'`;
  if (table === 'artifacts' && name === 'encoding') return `${isType} AND ${name} IN (${encodings})`;
  if (table === 'entries' && name === 'listed') return `${name} IS NULL`; // never set
  return notnull === 1 || pk > 0 ? isType : `${name} IS NULL OR ${isType}`;
}

/** Checks that the columns next to an entry's text agree with it. */

const mendAdvice = 'Run `quittance rebuild` to rebuild it from the entries.';

type Columns = {
  readonly position: number;
  readonly name: string | null;
  readonly call: string | null;
  readonly version: number | null;
  readonly marks: SqlValue;
  readonly text: string;
};

const inspectColumns = (ledger: Database): Generator<TableFinding, void, undefined> =>
  nameSome('the columns of entries', wrongColumns(ledger));

function* wrongColumns(ledger: Database): Generator<TableFinding, void, undefined> {
  const hasMarks = prepareValue<string>(ledger, `SELECT name FROM pragma_table_info('entries', 'main')`)
    .all()
    .includes('marks');
  const rows = prepareRow<Columns>(
    ledger,
    `SELECT position, name, call, version, ${hasMarks ? 'marks' : 'NULL AS marks'}, text
     FROM main.entries AS e LEFT JOIN main.sessions AS s ON s.session = e.session ORDER BY position`,
  );
  let isMarked = false;
  for (const row of rows.iterate()) {
    const message = wrongColumn(row, hasMarks, isMarked);
    isMarked ||= row.marks !== null;
    if (message === undefined) continue;
    yield {
      kind: 'side_row',
      position: row.position,
      sessionId: readStoredName(sqliteNames, row.name),
      message: `${message} ${mendAdvice}`,
    };
  }
}

/** `isMarked`: an earlier entry has marks, so a version that sets them wrote this one. */
function wrongColumn(row: Columns, hasMarks: boolean, isMarked: boolean): string | undefined {
  if (typeof row.text !== 'string') return undefined; // the chain check reports it
  const sessionId = readStoredName(sqliteNames, row.name);
  if (sessionId === undefined) return 'The entry belongs to a session without a row, or without a name.';
  if (!saysWhereItStands(row, sessionId))
    return 'The columns of the entry name a different session, call or version than its text.';
  if (!hasMarks) return undefined;
  const due = /,"(claim|reserve|settle|moves|totals)":/.test(row.text) ? marksIn(row.text) : 0;
  return due === undefined || row.marks === (due === 0 ? null : due) || (!isMarked && isOld(row))
    ? undefined
    : 'The entry does not have the number of marks that its text implies.';
}

/** Written before marks existed: its text states no totals, and its column was never set. */
const isOld = ({ marks, text }: Columns): boolean => marks === null && !text.includes(',"totals":');

function marksIn(text: string): number | undefined {
  try {
    return countMarks(decode({ text, bodies: null }));
  } catch {
    return undefined; // the chain check reports it
  }
}
