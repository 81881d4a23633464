/**
 * Takes a copy of another ledger into a SQLite file. The copy is made in a file next to the target, and gets its name
 * when it is complete. Artifacts go to their final place before: their names are digests, so an unused one does no harm.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CopySource, CopyTotals, TakeCopy } from '../../ledger/copy-source.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { inUseByOthers, MissingEntries, otherKey } from '../../ledger/missing-entries.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { SideRow } from '../../ledger/side-row.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import { ArtifactFiles } from './artifact-files.ts';
import type { Database } from './database.ts';
import { openDatabase, prepareRow, prepareValue } from './database.ts';
import { countMarks } from './marks.ts';
import { openLedgerFile } from './open-file.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import { listOwners, readOwnerStatus } from './owner-lock.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';

/** Everything that a ledger file may have next to it. */
const companions = [
  '',
  '-wal',
  '-shm',
  '.key',
  '.owners',
  '.spill',
  '.read',
  '.read-wal',
  '.read-shm',
  '.artifacts',
];

export const takeSqliteCopy =
  (path: string): TakeCopy =>
  async (source, signal) => {
    const draft = `${path}.copying`;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const remove = (): void => {
      for (const name of companions) rmSync(draft + name, { recursive: true, force: true });
    };
    refuseUsed(path);
    const key = findKey(path, source.sealKey);
    remove(); // of an interrupted copy
    try {
      if (existsSync(path)) copyFile(path, draft);
      else (await openLedgerFile(draft, false)).close();
      // The artifacts of the draft are at their final place already, so the draft counts as whole.
      mkdirSync(`${draft}.artifacts/elsewhere`, { recursive: true, mode: 0o700 });
      const totals = await takeAll(await openLedgerFile(draft, false), source, `${path}.artifacts`, signal);
      const ledger = await openSqliteLedger(draft, { ...(source.sealKey && { sealKey: source.sealKey }) });
      try {
        await ledger.integrity.rebuild();
      } finally {
        await ledger.close();
      }
      signal.throwIfAborted();
      refuseUsed(path);
      if (key !== undefined) writeFileSync(`${path}.key`, key, { mode: 0o600, flag: 'wx', flush: true });
      // The read tables of the old file are made again from the new one.
      for (const name of ['-wal', '-shm', '.read', '.read-wal', '.read-shm'])
        rmSync(path + name, { force: true });
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
  database.exec('BEGIN IMMEDIATE');
  try {
    const sessions = new Sessions(database);
    const missing = new MissingEntries(readHeads(database));
    const put = createPutEntry(database, sessions);
    const empty = prepareRow<never>(
      database,
      'UPDATE entries SET bodies = NULL, salt = NULL WHERE session = ? AND sequence = ?',
    );
    let removals = 0;
    for await (const entry of source.entries()) {
      signal.throwIfAborted();
      if (entry.sessionId === ledgerSessionId) removals += countDropped(entry);
      if (missing.isMissing(entry)) put(entry);
      else if (entry.bodies === undefined) empty.run(sessions.take(entry.sessionId), entry.sequence);
    }
    missing.requireWhole();
    countRemovals(database, removals);
    await putSideRows(database, sessions, source);
    const artifacts = await putArtifacts(
      database,
      sessions,
      source,
      new ArtifactFiles(artifactFolder),
      signal,
    );
    database.exec('COMMIT');
    return { entries: missing.taken, sessions: missing.sessions, artifacts };
  } finally {
    database.close();
  }
}

const countDropped = (entry: StoredEntry): number =>
  readEntry(entry).events.filter(({ type }) => type === 'session.dropped').length;

/** The file counts the sessions that were removed, so that a removed row of a session is noticed. */
function countRemovals(database: Database, removals: number): void {
  prepareRow<never>(database, 'UPDATE ledger SET removals = ?').run(removals);
  prepareRow<never>(
    database,
    `UPDATE sqlite_sequence SET seq = (SELECT count(*) FROM sessions) + CAST(? AS INTEGER) WHERE name = 'sessions'`,
  ).run(removals);
}

/** The numbers that stand for sessions in this file. */
class Sessions {
  readonly #numbers = new Map<string, number>();
  readonly #find;
  readonly #add;

  constructor(database: Database) {
    this.#find = prepareValue<number>(database, 'SELECT session FROM sessions WHERE name = ?');
    this.#add = prepareValue<number>(database, 'INSERT INTO sessions (name) VALUES (?) RETURNING session');
  }

  take(sessionId: string): number {
    const known = this.#numbers.get(sessionId);
    if (known !== undefined) return known;
    const name = toSqlText(sessionId);
    const number = this.#find.get(name) ?? (this.#add.get(name) as number); // the statement returns a row
    this.#numbers.set(sessionId, number);
    return number;
  }
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
  const insert = prepareRow<never>(database, 'INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  let position = prepareValue<number>(database, 'SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;
  return (entry) => {
    const read = readEntry(entry);
    const { callId, expectedVersion } = read;
    const marks = countMarks(read);
    insert.run(
      ++position,
      sessions.take(entry.sessionId),
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

async function putSideRows(database: Database, sessions: Sessions, source: CopySource): Promise<void> {
  for (const table of ['claims', 'counters', 'states', 'sealed', 'artifacts'])
    prepareRow<never>(database, `DELETE FROM ${table}`).run();
  const put = {
    claim: prepareRow<never>(database, 'INSERT INTO claims VALUES (?, ?, ?, ?)'),
    counter: prepareRow<never>(database, 'INSERT INTO counters VALUES (?, ?, ?)'),
    state: prepareRow<never>(database, 'INSERT INTO states VALUES (?, ?, ?, ?)'),
    sealed: prepareRow<never>(database, 'INSERT INTO sealed VALUES (?, ?, ?)'),
  };
  const putRow = (row: SideRow): void => {
    switch (row.kind) {
      case 'claim':
        put.claim.run(
          toSqlText(row.key),
          toSqlText(row.sessionId),
          toSqlText(row.callId),
          toSqlText(row.inputDigest),
        );
        return;
      case 'counter':
        put.counter.run(toSqlText(row.name), row.used, row.reserved);
        return;
      case 'state':
        if (row.sessionId !== undefined)
          put.state.run(
            sessions.take(row.sessionId),
            toSqlText(row.subject),
            row.version,
            toSqlText(row.text),
          );
        return;
      case 'unsettled':
      case 'sealed':
      case 'artifact':
        return;
    }
  };
  for await (const row of source.sideRows()) putRow(row);
  for await (const { sessionId, callId, text } of source.sealed())
    put.sealed.run(sessions.take(sessionId), toSqlText(callId), text);
}

async function putArtifacts(
  database: Database,
  sessions: Sessions,
  source: CopySource,
  files: ArtifactFiles,
  signal: AbortSignal,
): Promise<number> {
  const put = prepareRow<never>(database, 'INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?)');
  let count = 0;
  for await (const { sessionId, artifactId, callId, mimeType, content } of source.artifacts()) {
    signal.throwIfAborted();
    const { encoding, bytes, hash } = await files.put(content);
    put.run(
      sessions.take(sessionId),
      toSqlText(artifactId),
      toSqlText(callId),
      toSqlText(mimeType),
      encoding,
      bytes,
      hash,
    );
    count++;
  }
  return count;
}
