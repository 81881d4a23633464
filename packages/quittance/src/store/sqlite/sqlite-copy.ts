/**
 * Takes a copy of another ledger into a SQLite file. The copy is made in a file next to the target, and gets its name
 * when it is complete. Artifacts go to their final place before: their names are digests, so an unused one does no harm.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CopySource, CopyTotals, TakeCopy } from '../../ledger/retention.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { CopyDialect } from '../sql/copy.ts';
import { inUseByOthers, otherKey, takeCopy } from '../sql/copy.ts';
import { createSqliteDriver, storedSide } from './dialect.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import { ArtifactFiles } from './artifact-files.ts';
import type { Database } from './database.ts';
import {
  enlargeCache,
  openDatabase,
  prepareRow,
  prepareValue,
  fromSqlText,
  sqliteNames,
  toSqlText,
} from './database.ts';
import { countMarks } from './marks.ts';
import { draftSuffix, oldTablesOf, openLedgerFile } from './open-file.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import { listOwners, readOwnerStatus } from './owner-lock.ts';
import { Sessions } from './sessions.ts';

/** Everything that a ledger file may have next to it. */
const companions = ['', '-wal', '-shm', '.key', '.owners', '.spill', '.last', '.artifacts'];

export const takeSqliteCopy =
  (path: string): TakeCopy =>
  async (source, signal) => {
    const draft = path + draftSuffix;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const remove = (): void => {
      for (const name of companions) rmSync(draft + name, { recursive: true, force: true });
    };
    refuseUsed(path);
    const key = findKey(path, source.sealKey);
    remove(); // of an interrupted copy
    try {
      if (existsSync(path)) copyFile(path, draft);
      const totals = await takeAll(await openLedgerFile(draft, false), source, `${path}.artifacts`, signal);
      const ledger = await openSqliteLedger(draft, { ...(source.sealKey && { sealKey: source.sealKey }) });
      try {
        await ledger.rebuild();
      } finally {
        await ledger.close();
      }
      signal.throwIfAborted();
      refuseUsed(path);
      if (key !== undefined) writeFileSync(`${path}.key`, key, { mode: 0o600, flag: 'wx', flush: true });
      for (const old of [...['-wal', '-shm', '.last'].map((end) => path + end), ...oldTablesOf(path)])
        rmSync(old, { force: true, recursive: true });
      renameSync(draft, path);
      return totals;
    } finally {
      remove();
    }
  };

function refuseUsed(path: string): void {
  const folder = `${path}.owners`;
  const owners = existsSync(folder) ? listOwners(folder) : [];
  if (owners.some((ownerId) => readOwnerStatus(folder, ownerId) !== 'gone')) throw inUseByOthers();
}

/** The key to write for the target; undefined if it has it already, or if it is not known. */
function findKey(path: string, key: Uint8Array | undefined): Uint8Array | undefined {
  if (key === undefined) return undefined;
  if (!existsSync(`${path}.key`)) return key;
  if (!readFileSync(`${path}.key`).equals(key)) throw otherKey();
  return undefined;
}

/** A consistent copy, also of a file with a log that was not merged. */
function copyFile(path: string, draft: string): void {
  const database = openDatabase(path, { mustExist: true });
  try {
    prepareRow<never>(database, 'VACUUM INTO ?').run(draft);
  } finally {
    database.close();
  }
}

async function takeAll(
  database: Database,
  source: CopySource,
  artifactFolder: string,
  signal: AbortSignal,
): Promise<CopyTotals> {
  enlargeCache(database);
  database.exec('BEGIN IMMEDIATE');
  try {
    const totals = await takeCopy(
      createSqliteDriver(database),
      createDialect(database, artifactFolder),
      source,
      signal,
    );
    countRemovals(database);
    database.exec('COMMIT');
    return totals;
  } finally {
    database.close();
  }
}

function createDialect(database: Database, artifactFolder: string): CopyDialect {
  const sessions = new Sessions(database);
  const put = createPutEntry(database, sessions);
  const files = new ArtifactFiles(artifactFolder);
  return {
    ...sqliteNames,
    stored: storedSide,
    takeSession: async (_, sessionId) => sessions.take(sessionId).session,
    readHeads: async () => [...readHeads(database)],
    putEntries: async (_, entries) => entries.forEach(put),
    emptyEntry: (driver, { sessionId, sequence }) =>
      driver.run('UPDATE entries SET bodies = NULL, salt = NULL WHERE session = ? AND sequence = ?', [
        sessions.take(sessionId).session,
        sequence,
      ]),
    artifacts: 'artifacts',
    async putArtifact(driver, { sessionId, artifactId, callId, mimeType, content }) {
      const { encoding, bytes, hash } = await files.put(content);
      const names = [artifactId, callId, mimeType].map(toSqlText);
      await driver.run('INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?)', [
        sessions.take(sessionId).session,
        ...names,
        encoding,
        bytes,
        hash,
      ]);
    },
  };
}

/** The file counts the sessions that were removed, so that a removed row of a session is noticed. */
function countRemovals(database: Database): void {
  const own = prepareValue<string>(
    database,
    `SELECT text FROM entries WHERE session = (SELECT session FROM sessions WHERE name = ?)
       AND instr(text, '"session.dropped"') > 0`,
  );
  const removals = own
    .all(toSqlText(ledgerSessionId))
    .flatMap((text) => readEntry({ text, bodies: undefined }).events)
    .filter(({ type }) => type === 'session.dropped').length;
  prepareRow<never>(database, 'UPDATE ledger SET removals = ?').run(removals);
  prepareRow<never>(
    database,
    `UPDATE sqlite_sequence SET seq = (SELECT count(*) FROM sessions) + CAST(? AS INTEGER) WHERE name = 'sessions'`,
  ).run(removals);
}

function* readHeads(database: Database): Generator<{ sessionId: string; sequence: number; hash: string }> {
  type Row = { name: string; sequence: number; hash: string };
  const rows = prepareRow<Row>(
    database,
    'SELECT name, max(e.sequence) AS sequence, e.hash FROM entries AS e JOIN sessions USING (session) GROUP BY session',
  );
  for (const { name, sequence, hash } of rows.all()) yield { sessionId: fromSqlText(name), sequence, hash };
}

function createPutEntry(database: Database, sessions: Sessions): (entry: StoredEntry) => void {
  const insert = prepareRow<never>(
    database,
    'INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)',
  );
  let position = prepareValue<number>(database, 'SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;
  return (entry) => {
    const read = readEntry(entry);
    const { callId, expectedVersion } = read;
    const marks = countMarks(read);
    insert.run(
      ++position,
      sessions.take(entry.sessionId).session,
      entry.sequence,
      callId === undefined ? null : toSqlText(callId),
      callId === undefined || expectedVersion === 'any' ? null : expectedVersion + 1,
      entry.text,
      entry.bodies ?? null,
      entry.salt ?? null,
      entry.hash,
      marks === 0 ? null : marks,
    );
  };
}
