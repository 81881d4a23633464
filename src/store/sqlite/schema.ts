/**
 * The tables of a ledger file, and the upgrade of older files.
 *
 * 1. `entries` is the source of truth, and rows are only added. The exceptions are erasure, which empties `bodies`
 *    and `salt`, and the removal of a whole session. `entry_index` and the heads in `sessions` cover the entries up
 *    to `ledger.indexed`. Later entries are few, and every process that opens the file reads them.
 * 2. The small tables (claims, counters, sealed, unsettled, states) are for the checks of an append. They change only
 *    in the commit of the entry that changes them. `marks` says which entry is the last about each row: see `Marks`.
 * 3. `cursors` stores how far readers have got: no entry records it.
 * 4. `key_check` recognizes the seal keys of the ledger, and tells nothing else about them.
 * 5. A program never opens a file that a newer version has changed, because it could break it.
 */
import { randomUUID } from 'node:crypto';
import { QuittanceError } from '../../base/error.ts';
import type { Database } from './database.ts';
import { isNoDatabase, openDatabase, prepareValue } from './database.ts';
import { setFirstMarks } from './first-marks.ts';
import type { SchemaObject } from './compare-schema.ts';
import { compareSchema, readSchema, schemaAfter } from './compare-schema.ts';

/** "QUIT", so that `file` and this program can tell a ledger from other databases. */
export const applicationId = 0x51554954;

/** Measured: rows are about a kilobyte, and pages of this size hold enough of them. */
const pageBytes = 8_192;

/**
 * The additions of each version; the first creates the tables. Never edited once released. Later ones create tables
 * that start empty, and columns that only writers use: see `lookAtSchema`.
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE ledger (ledger_id TEXT NOT NULL, indexed INTEGER NOT NULL, removals INTEGER NOT NULL);
  CREATE TABLE sessions (
    session INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
    sequence INTEGER NOT NULL DEFAULT 0, hash TEXT
  );
  CREATE TABLE entries (
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    call TEXT,
    version INTEGER,
    text TEXT NOT NULL,
    bodies TEXT,
    salt TEXT,
    hash TEXT NOT NULL
  );
  CREATE TABLE entry_index (
    session INTEGER NOT NULL, call TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    positions TEXT NOT NULL, version INTEGER,
    PRIMARY KEY (session, call, first)
  ) WITHOUT ROWID;
  CREATE TABLE claims (
    key TEXT PRIMARY KEY, session TEXT NOT NULL, call TEXT NOT NULL, digest TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX claims_by_session ON claims (session);
  CREATE TABLE counters (
    name TEXT PRIMARY KEY, used INTEGER NOT NULL, reserved INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE sealed (
    session INTEGER NOT NULL, call TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (session, call)
  ) WITHOUT ROWID;
  CREATE TABLE unsettled (
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL, call TEXT NOT NULL
  );
  CREATE INDEX unsettled_by_input ON unsettled (session, tool, digest);
  CREATE TABLE artifacts (
    session INTEGER NOT NULL, artifact TEXT NOT NULL, call TEXT NOT NULL,
    mime TEXT NOT NULL, encoding TEXT NOT NULL, bytes INTEGER NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (session, artifact)
  ) WITHOUT ROWID;
  CREATE INDEX artifacts_by_hash ON artifacts (hash);
  `,
  `
  CREATE TABLE states (
    session INTEGER NOT NULL, subject TEXT NOT NULL, version INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (session, subject)
  ) WITHOUT ROWID;
  `,
  `
  CREATE TABLE cursors (
    name TEXT PRIMARY KEY, position INTEGER NOT NULL, holder TEXT, owner TEXT
  ) WITHOUT ROWID;
  `,
  // A process of an older version that still has the file open would set no marks: the new column makes its appends
  // fail.
  `
  CREATE TABLE marks (key TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
  ALTER TABLE entries ADD COLUMN marks INTEGER;
  `,
  `
  CREATE TABLE key_check (text TEXT NOT NULL);
  `,
];
/** The first version with marks. */
const marksVersion = 4;

/**
 * Turns a new file into a ledger, upgrades an old one, and rejects everything else. Throws while the file is locked.
 */
export function prepareSchema(database: Database, path: string): void {
  const found = atOneMoment(database, () => identify(database, path));
  if (found > 0) refuseChanged(database, path, found);
  if (found === migrations.length) return;
  if (found === 0) {
    database.pragma(`page_size = ${pageBytes}`);
    database.pragma('journal_mode = WAL');
  }
  database.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have been faster.
    const version = identify(database, path);
    for (const sql of migrations.slice(version)) database.exec(sql);
    if (version === 0) {
      database.prepare('INSERT INTO ledger VALUES (?, 0, 0)').run(randomUUID());
      database.pragma(`application_id = ${applicationId}`);
    }
    if (version < marksVersion) setFirstMarks(database);
    database.pragma(`user_version = ${migrations.length}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/**
 * For readers, which cannot upgrade an older file: missing tables, or tables without our columns, become empty
 * temporary ones of this connection. They stay so while it is open, even if another process upgrades the file.
 */
export function lookAtSchema(database: Database, path: string): void {
  const found = atOneMoment(database, () => identify(database, path));
  if (found === 0)
    throw new QuittanceError(
      'config.invalid',
      `${path} contains no ledger, and it is opened read-only. Name another file, or open it once for ` +
        'writing.',
      { path },
    );
  const lacking = findLacking(database);
  if (lacking.length === 0) return;
  database.pragma('query_only = OFF');
  for (const { sql } of lacking) database.exec(String(sql).replace('CREATE TABLE', 'CREATE TEMP TABLE'));
  database.pragma('query_only = ON');
}

/** Tables that are missing from the file, or lack the columns that our statements use. */
function findLacking(database: Database): readonly SchemaObject[] {
  const columns = prepareValue<string>(database, 'SELECT name FROM pragma_table_info(?)');
  const model = openDatabase(':memory:');
  try {
    for (const sql of migrations) model.exec(sql);
    const due = prepareValue<string>(model, 'SELECT name FROM pragma_table_info(?)');
    return readSchema(model).filter(({ type, name }) => {
      if (type !== 'table') return false;
      const found = columns.all(name);
      // Only an append uses all columns of an entry.
      return name === 'entries'
        ? !due.all(name).every((column) => column === 'marks' || found.includes(column))
        : due.all(name).join() !== found.join();
    });
  } finally {
    model.close();
  }
}

/** The schema of a file of this version, or of an earlier one. */
export const ledgerSchema = (version: number = migrations.length): readonly SchemaObject[] =>
  schemaAfter(migrations.slice(0, version));

/** The version that a file states; 0 if it states none. */
export const versionOf = (database: Database): number =>
  database.pragma('user_version', { simple: true }) as number;

/** A foreign trigger, or a removed constraint, could change what is written or allow anything to be written. */
function refuseChanged(database: Database, path: string, version: number): void {
  const { problems } = compareSchema(readSchema(database), ledgerSchema(version));
  if (problems.length > 0)
    throw new QuittanceError(
      'ledger.damaged',
      `Another program changed the tables of the ledger ${path}, so nothing is written to it. ` +
        `${problems.join(' ')} Undo the change, or restore a backup of the file. \`quittance verify\` ` +
        'reads it as it is.',
      { path },
    );
}

/** Another process may be creating the ledger: a mix of both states would look like a foreign database. */
function atOneMoment<Found>(database: Database, look: () => Found): Found {
  database.exec('BEGIN');
  try {
    return look();
  } finally {
    if (database.inTransaction) database.exec('ROLLBACK');
  }
}

/** The version of a ledger; 0 for an empty file. */
function identify(database: Database, path: string): number {
  const id = readNumber(database, 'application_id', path);
  const version = readNumber(database, 'user_version', path);
  if (id === applicationId) {
    if (version <= migrations.length) return version;
    throw new QuittanceError(
      'ledger.newer',
      `A newer version of this package wrote the ledger ${path}: it has format ${version}, and this ` +
        `program supports formats up to ${migrations.length}. Update the package to open it.`,
      { path, found: String(version), known: String(migrations.length) },
    );
  }
  const tables = prepareValue<number>(database, 'SELECT count(*) FROM sqlite_schema').get();
  if (id === 0 && version === 0 && tables === 0) return 0;
  throw new QuittanceError(
    'config.invalid',
    `${path} is a SQLite database but not a Quittance ledger. Name another file: a ledger needs its ` +
      'own file.',
    { path },
  );
}

function readNumber(database: Database, pragma: string, path: string): number {
  try {
    return database.pragma(pragma, { simple: true }) as number;
  } catch (error) {
    if (!isNoDatabase(error)) throw error;
    throw new QuittanceError(
      'config.invalid',
      `${path} is not a SQLite database, so it is not a Quittance ledger.`,
      { path },
      error,
    );
  }
}
