/**
 * The tables of a ledger file, and the upgrade of older files.
 *
 * 1. `entries` is the source of truth, and rows are only added. The exceptions are erasure, which empties `bodies`
 *    and `salt`, and the removal of a whole session. The rows of `sessions` state how many entries each session has.
 * 2. The small tables (claims, counters, sealed, unsettled, states) are for the checks of an append. They change only
 *    in the commit of the entry that changes them. `marks` says which entry is the last about each row: see `Marks`.
 * 3. `cursors` stores how far readers have got: no entry records it.
 * 4. `key_check` recognizes the seal keys of the ledger, and tells nothing else about them.
 * 5. Lists and search read `calls`, `confirmations`, `session_counts`, `tallies` and `words`. An append changes them in
 *    its commit, and they can be made again from the entries.
 * 6. A program never opens a file that a newer version has changed, because it could break it.
 */
import { randomUUID } from 'node:crypto';
import { QuittanceError } from '../../base/error.ts';
import type { Database } from './database.ts';
import { isNoDatabase, openDatabase, prepareValue } from './database.ts';
import { markOf } from './marks.ts';
import { setFirstMarks } from './side-rebuild.ts';
import { createWriteParts } from './write-parts.ts';
import type { SchemaObject } from './compare-schema.ts';
import { compareSchema, readSchema, schemaAfter } from './compare-schema.ts';
import { partSql, wordTable } from './call-lists.ts';

/** "QUIT", so that `file` and this program can tell a ledger from other databases. */
export const applicationId = 0x51554954;

/** Measured: rows are about a kilobyte, and pages of this size hold enough of them. */
const pageBytes = 8_192;

/** What `bench:search` needs to answer at once: one index per filter, and one to skip parts without a call of a period. */
const listTables = `
  CREATE TABLE calls (
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL, call_id TEXT NOT NULL, turn_id TEXT NOT NULL, tool_name TEXT NOT NULL,
    mode TEXT NOT NULL, mode_origin TEXT NOT NULL, requested_at INTEGER NOT NULL, user_id TEXT,
    status TEXT NOT NULL, outcome TEXT, reason TEXT, code TEXT, message TEXT, input_digest TEXT,
    attempts INTEGER NOT NULL, unresolved INTEGER NOT NULL, settled_at INTEGER, elapsed_ms INTEGER,
    cost_micros INTEGER NOT NULL, rule_id TEXT, owner_id TEXT NOT NULL, args TEXT
  );
  CREATE INDEX calls_by_time ON calls (requested_at);
  CREATE INDEX calls_by_part ON calls (${partSql}, requested_at);
  CREATE INDEX calls_by_session ON calls (session, requested_at);
  CREATE INDEX calls_by_tool ON calls (tool_name, requested_at);
  CREATE INDEX calls_by_outcome ON calls (outcome, requested_at) WHERE outcome <> 'ToolExecutionResult';
  CREATE INDEX calls_by_code ON calls (code, requested_at) WHERE code IS NOT NULL;
  CREATE INDEX calls_by_user ON calls (user_id, requested_at) WHERE user_id IS NOT NULL;
  CREATE INDEX calls_by_rule ON calls (rule_id, requested_at) WHERE rule_id IS NOT NULL;
  CREATE INDEX calls_open ON calls (requested_at) WHERE status <> 'settled';
  CREATE INDEX calls_unresolved ON calls (requested_at) WHERE unresolved = 1;
  CREATE TABLE confirmations (
    confirmation_id TEXT PRIMARY KEY,
    position INTEGER NOT NULL, session INTEGER NOT NULL, call_id TEXT NOT NULL, tool_name TEXT NOT NULL,
    status TEXT NOT NULL, asked_at INTEGER NOT NULL, expires_at INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX confirmations_by_status ON confirmations (status, asked_at, position);
  CREATE INDEX confirmations_by_time ON confirmations (asked_at, position);
  CREATE TABLE session_counts (
    session INTEGER PRIMARY KEY,
    calls INTEGER NOT NULL, open_calls INTEGER NOT NULL, failures INTEGER NOT NULL, denials INTEGER NOT NULL,
    unresolved INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL
  );
  CREATE INDEX session_counts_by_time ON session_counts (first_at);
  CREATE TABLE tallies (
    hour INTEGER NOT NULL, tool_name TEXT NOT NULL, bin INTEGER NOT NULL, code TEXT NOT NULL,
    outcome TEXT NOT NULL, mode TEXT NOT NULL, status TEXT NOT NULL,
    calls INTEGER NOT NULL, unresolved INTEGER NOT NULL, cost_micros INTEGER NOT NULL,
    PRIMARY KEY (hour, tool_name, bin, code, outcome, mode, status)
  ) WITHOUT ROWID;
  ${wordTable}
`;

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
  // A process of an older version that still has the file open would list nothing: the new column makes its appends
  // fail. `relisting` has a row while the entries of older versions are listed: see `relist.ts`.
  `
  ALTER TABLE entries ADD COLUMN listed INTEGER;
  CREATE TABLE relisting (position INTEGER NOT NULL);
  INSERT INTO relisting SELECT 0 WHERE EXISTS (SELECT 1 FROM entries);
  ${listTables}
  `,
  // A process of an older version that still has the file open would not see new entries, and would not update the
  // rows of sessions. Without the column it fails, because it reads it whenever another process has written.
  `
  DROP TABLE entry_index;
  ALTER TABLE ledger DROP COLUMN indexed;
  CREATE INDEX entries_by_session ON entries (session);
  CREATE INDEX entries_by_call ON entries (session, call, version) WHERE call IS NOT NULL;
  `,
];
/** The first version with marks. */
const marksVersion = 4;
/** The first version with indexes on entries, and with the end of each chain in its session's row. */
export const indexesVersion = 7;
/** The first version with the tables of lists. */
export const listsVersion = 6;

/**
 * Turns a new file into a ledger, upgrades an old one, and rejects everything else. Throws while the file is locked.
 */
export async function prepareSchema(database: Database, path: string): Promise<void> {
  const found = atOneMoment(database, () => identify(database, path));
  if (found > 0) refuseChanged(database, path, found);
  if (found === migrations.length) return;
  if (found === 0) {
    database.pragma(`page_size = ${pageBytes}`);
    database.pragma('journal_mode = WAL');
    // The first commit of a writer flushes this one too.
    database.pragma('synchronous = NORMAL');
  }
  database.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have been faster.
    const version = identify(database, path);
    for (const sql of migrations.slice(version)) database.exec(sql);
    if (version === 0) {
      database.prepare('INSERT INTO ledger VALUES (?, 0)').run(randomUUID());
      database.prepare('INSERT INTO marks VALUES (?, 0)').run(markOf.first);
      database.pragma(`application_id = ${applicationId}`);
    } else if (version < indexesVersion) database.exec(lastEndsOf('main'));
    if (version > 0 && version < marksVersion) {
      const upgrade = { path, ownerId: 'upgrade' };
      await setFirstMarks(
        createWriteParts(database, upgrade, async (work) => work()),
        Date.now(),
      );
    }
    database.pragma(`user_version = ${migrations.length}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Earlier versions brought the rows of sessions up to date only now and then. A row that says more than there is stays:
 * then entries were removed.
 */
const lastEndsOf = (schema: 'main' | 'temp'): string => `
  UPDATE ${schema}.sessions SET sequence = last.sequence, hash = last.hash
  FROM (SELECT session, max(sequence) AS sequence, hash FROM main.entries GROUP BY session) AS last
  WHERE last.session = sessions.session AND last.sequence > sessions.sequence;
`;

/**
 * For readers, which cannot upgrade an older file: missing tables, or tables without our columns, become empty
 * temporary ones of this connection. They stay so while it is open, even if another process upgrades the file. Those of
 * lists are filled when a query needs them. A file without indexes on entries is read once, to index a temporary copy of
 * their places. So a reader of it sees only the entries that were there when it was opened.
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
  const isUnlisted =
    found < listsVersion || prepareValue(database, 'SELECT 1 FROM relisting').get() !== undefined;
  const hasIndexes = found >= indexesVersion;
  if (lacking.length === 0 && !isUnlisted && hasIndexes) return;
  database.pragma('query_only = OFF');
  if (!hasIndexes) database.exec(temporaryPlaces(database));
  for (const { sql } of lacking) database.exec(String(sql).replace('CREATE TABLE', 'CREATE TEMP TABLE'));
  if (isUnlisted) database.exec(temporaryLists);
  database.pragma('query_only = ON');
}

/** The entries with indexes, for one connection. Texts are read from the file. */
function temporaryPlaces(database: Database): string {
  const columns = prepareValue<string>(database, `SELECT name FROM pragma_table_info('entries')`).all();
  const [copied, left] = [columns.slice(0, 5), columns.slice(5)];
  return `
    CREATE TEMP TABLE entry_places AS SELECT ${copied.join()} FROM main.entries;
    CREATE UNIQUE INDEX temp.places ON entry_places (position);
    CREATE INDEX temp.places_by_session ON entry_places (session, position);
    CREATE INDEX temp.places_by_call ON entry_places (session, call, version);
    CREATE TEMP VIEW entries AS SELECT ${copied.map((name) => `p.${name}`).join()}, ${left.map((name) => `e.${name}`).join()}
      FROM temp.entry_places AS p CROSS JOIN main.entries AS e ON e.position = p.position;
    CREATE TEMP TABLE sessions (
      session INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, sequence INTEGER NOT NULL, hash TEXT
    );
    INSERT INTO temp.sessions SELECT session, name, sequence, hash FROM main.sessions;
    ${lastEndsOf('temp')}
  `;
}

/** The tables of lists for one connection, not filled yet. */
const temporaryLists = `
  CREATE TEMP TABLE IF NOT EXISTS relisting (position INTEGER NOT NULL);
  INSERT INTO temp.relisting VALUES (0);
  ${listTables.replaceAll(/CREATE (TABLE|VIRTUAL TABLE|INDEX) (\w+)/g, 'CREATE $1 temp.$2')}
`;

/** Tables that are missing from the file, or lack the columns that our statements use. */
function findLacking(database: Database): readonly SchemaObject[] {
  const columns = prepareValue<string>(database, 'SELECT name FROM pragma_table_info(?)');
  const model = openDatabase(':memory:');
  try {
    for (const sql of migrations) model.exec(sql);
    const due = prepareValue<string>(model, 'SELECT name FROM pragma_table_info(?)');
    return readSchema(model).filter(({ type, name }) => {
      if (type !== 'table' || isListTable(name)) return false;
      const found = columns.all(name);
      // Only an append uses all columns of an entry.
      const isOurs = (column: string): boolean =>
        found.includes(column) || (name === 'entries' && /^(marks|listed)$/.test(column));
      return !due.all(name).every(isOurs);
    });
  } finally {
    model.close();
  }
}

/** Does a table have rows of lists, or say which are missing? */
export const isListTable = (name: string): boolean =>
  /^(calls|confirmations|session_counts|tallies|relisting|words(_\w+)?)$/.test(name);

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
