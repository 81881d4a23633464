/**
 * The read tables: a separate file next to the ledger. They contain only data from the ledger's entries, so they are
 * never flushed to disk, and filling them does not block appends.
 *
 * `audit` has no records of kind `completed`: the row of the call says the same.
 */
import { rmSync } from 'node:fs';
import type { Database } from './database.ts';
import { isDamaged, isForeign, isMissing, isReadOnly, openDatabase, prepareRow } from './database.ts';
import type { SchemaObject } from './compare-schema.ts';
import { compareSchema, readSchema, schemaAfter } from './compare-schema.ts';
import { tallyTable, tallyTriggers } from './tally-table.ts';
import { isPartOfWords, partSql, wordTable } from './word-table.ts';

/** Change this number with the tables: tables of another version are dropped and rebuilt. */
export const readTablesVersion = 11;

const tables = `
  CREATE TABLE progress (ledger_id TEXT NOT NULL, position INTEGER NOT NULL, hash TEXT NOT NULL);
  CREATE TABLE calls (
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL, call_id TEXT NOT NULL, turn_id TEXT NOT NULL, tool_name TEXT NOT NULL,
    mode TEXT NOT NULL, mode_origin TEXT NOT NULL, status TEXT NOT NULL, outcome TEXT, reason TEXT, code TEXT,
    message TEXT, input_digest TEXT, attempts INTEGER NOT NULL, unresolved INTEGER NOT NULL,
    requested_at INTEGER NOT NULL, settled_at INTEGER, elapsed_ms INTEGER, cost_micros INTEGER NOT NULL,
    user_id TEXT, rule_id TEXT, owner_id TEXT NOT NULL, args TEXT
  );
  CREATE UNIQUE INDEX calls_by_id ON calls (session, call_id);
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
  CREATE TABLE audit (
    position INTEGER NOT NULL, record_id TEXT NOT NULL,
    session INTEGER NOT NULL, call_id TEXT NOT NULL, turn_id TEXT NOT NULL, attempt INTEGER NOT NULL,
    tool_name TEXT NOT NULL, mode TEXT NOT NULL, kind TEXT NOT NULL, tool_success INTEGER,
    decided_by TEXT, policy_version TEXT, user_id TEXT, at INTEGER NOT NULL,
    PRIMARY KEY (position, record_id)
  ) WITHOUT ROWID;
  CREATE INDEX audit_by_kind ON audit (kind, at) WHERE kind <> 'completed';
  CREATE TABLE confirmations (
    confirmation_id TEXT PRIMARY KEY,
    position INTEGER NOT NULL, session INTEGER NOT NULL, call_id TEXT NOT NULL, tool_name TEXT NOT NULL,
    status TEXT NOT NULL, asked_at INTEGER NOT NULL, expires_at INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX confirmations_by_status ON confirmations (status, asked_at, position);
  CREATE INDEX confirmations_by_time ON confirmations (asked_at, position);
  CREATE TABLE sessions (
    session INTEGER PRIMARY KEY, session_id TEXT NOT NULL,
    calls INTEGER NOT NULL, open_calls INTEGER NOT NULL, failures INTEGER NOT NULL, denials INTEGER NOT NULL,
    unresolved INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL
  );
  CREATE INDEX sessions_by_name ON sessions (session_id);
  CREATE INDEX sessions_by_time ON sessions (first_at);
  ${wordTable}
  ${tallyTable}
  ${tallyTriggers.create}
`;

export const readTablesSchema = (): readonly SchemaObject[] => schemaAfter([tables]);

/** Empty tables that end with their connection: in memory, or in a temporary SQLite file if they are large. */
export const createScratchTables = (ledgerId: string): Database => openWriter('', ledgerId);

/** Queries use a separate connection, so that they see only complete steps. */
export type ReadTablesConnections = { readonly writer: Database; readonly reader: Database };

/**
 * Opens the read tables of a ledger, empty if they belong to another ledger or version. They are in memory if there
 * can be no file, or for `:memory:`. Throws while locked.
 */
export function openReadTables(path: string, ledgerId: string): ReadTablesConnections {
  if (path === ':memory:') return openInMemory(ledgerId);
  try {
    return openFile(path, ledgerId);
  } catch (error) {
    if (isDamaged(error) || isForeign(error)) {
      removeReadTables(path);
      return openFile(path, ledgerId);
    }
    if (!isMissing(error) && !isReadOnly(error)) throw error;
    return openInMemory(ledgerId);
  }
}

function openInMemory(ledgerId: string): ReadTablesConnections {
  const memory = openWriter(':memory:', ledgerId);
  return { writer: memory, reader: memory };
}

/** Nothing is lost: they can be rebuilt. */
export function removeReadTables(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

function openFile(path: string, ledgerId: string): ReadTablesConnections {
  const writer = openWriter(path, ledgerId);
  try {
    return { writer, reader: openDatabase(path, { cacheKiB: 4_000 }) };
  } catch (error) {
    writer.close();
    throw error;
  }
}

function openWriter(path: string, ledgerId: string): Database {
  const database = openDatabase(path);
  try {
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = NORMAL');
    // A checkpoint flushes, and appends to the ledger wait for the same disk.
    database.pragma('wal_autocheckpoint = 4000');
    if (!isUsable(database, ledgerId)) makeTables(database, ledgerId);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function isUsable(database: Database, ledgerId: string): boolean {
  if (database.pragma('user_version', { simple: true }) !== readTablesVersion) return false;
  // In changed tables, inserts would fail or be altered silently.
  if (compareSchema(readSchema(database), readTablesSchema()).problems.length > 0) return false;
  return (
    prepareRow<{ ledger_id: string }>(database, 'SELECT ledger_id FROM progress').get()?.ledger_id ===
    ledgerId
  );
}

function makeTables(database: Database, ledgerId: string): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    if (!isUsable(database, ledgerId)) {
      for (const { type, name } of readSchema(database))
        if ((type === 'table' || type === 'view') && !isPartOfWords(name))
          database.exec(`DROP ${type} "${name.replaceAll('"', '""')}"`);
      database.exec(tables);
      database.prepare(`INSERT INTO progress VALUES (?, 0, '')`).run(ledgerId);
      database.pragma(`user_version = ${readTablesVersion}`);
    }
    database.exec('COMMIT');
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
