/** Makes the file of an earlier version of the package from a ledger file of this one. */
import { openBare } from './bare-database.ts';

/** What each version added. */
const tables: readonly (readonly [version: number, table: string])[] = [
  [2, 'states'],
  [3, 'cursors'],
  [4, 'marks'],
  [5, 'key_check'],
  ...['calls', 'confirmations', 'session_counts', 'tallies', 'words', 'relisting'].map(
    (table) => [6, table] as const,
  ),
];
const columns: readonly (readonly [version: number, column: string])[] = [
  [4, 'marks'],
  [6, 'listed'],
];

/** No entry is in the index, and every row of a session says that it has none: all are newer than the index. */
const withoutIndexes = `
  DROP INDEX entries_by_session;
  DROP INDEX entries_by_call;
  UPDATE sessions SET sequence = 0, hash = NULL;
  ALTER TABLE ledger RENAME TO newer;
  CREATE TABLE ledger (ledger_id TEXT NOT NULL, indexed INTEGER NOT NULL, removals INTEGER NOT NULL);
  INSERT INTO ledger SELECT ledger_id, 0, removals FROM newer;
  DROP TABLE newer;
  CREATE TABLE entry_index (
    session INTEGER NOT NULL, call TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    positions TEXT NOT NULL, version INTEGER,
    PRIMARY KEY (session, call, first)
  ) WITHOUT ROWID;
`;

export function makeOlder(path: string, version: number): void {
  const database = openBare(path);
  if (version < 7) database.exec(withoutIndexes);
  for (const [since, table] of tables) if (since > version) database.exec(`DROP TABLE ${table}`);
  for (const [since, column] of columns)
    if (since > version) database.exec(`ALTER TABLE entries DROP COLUMN ${column}`);
  database.pragma(`user_version = ${version}`);
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
}
