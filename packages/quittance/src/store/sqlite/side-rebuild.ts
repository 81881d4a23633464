/**
 * Rebuilds the tables outside entries. The entries are read outside of any transaction, so that other processes can
 * append meanwhile. Their new entries are read inside the transaction that changes the tables.
 */
import { QuittanceError } from '../../base/error.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { decode } from '../sql/entries.ts';
import type { FoldedEntries, SideStateDialect } from '../sql/side-state.ts';
import { foldSome, rebuildSideState, startFold } from '../sql/side-state.ts';
import { isRefusedValue, fromSqlText, toSqlText } from './database.ts';
import { createSqliteDriver, markDialect, sideDialect, storedSide } from './dialect.ts';
import { toDamagedFileError } from './file-trouble.ts';
import { markOf } from './marks.ts';
import { beginRelisting, relist } from './relist.ts';
import { saysWhereItStands } from './sessions.ts';
import type { WriteParts } from './write-parts.ts';

/** Rebuilds the tables outside entries, and the rows of lists. Returns what could not be read, in words. */
export async function rebuildLedger(parts: WriteParts, at: number): Promise<readonly string[]> {
  const { path, transact, sessions, side, appender } = parts;
  try {
    const folded = startFold(hasDropped(parts));
    const driver = createSqliteDriver(parts.database);
    const dialect = createDialect(parts);
    while (await foldSome(driver, dialect, folded)) await new Promise(setImmediate);
    await transact(async () => {
      rebuildSessions(parts, folded.problems);
      sessions.forgetAll();
      appender.forget();
      side.forget();
      await rebuildSideState(driver, dialect, folded, at);
      side.forget();
    });
    await transact(() => beginRelisting(parts));
    return [...folded.problems, ...(await relist(parts, transact))];
  } catch (error) {
    if (isRefusedValue(error)) throw unrepairedError(error, path);
    throw toDamagedFileError(error, path);
  }
}

/**
 * Sets the marks of a ledger from a version without them, in the transaction that upgrades it. Its entries state no totals
 * of counters, so new entries of the ledger's own chain do.
 */
export async function setFirstMarks(parts: WriteParts, at: number): Promise<void> {
  const folded: FoldedEntries = startFold(hasDropped(parts));
  await rebuildSideState(createSqliteDriver(parts.database), createDialect(parts), folded, at);
  const [problem] = folded.problems;
  if (problem !== undefined) throw new QuittanceError('ledger.damaged', `${problem} Restore a backup.`);
  parts.sessions.flush();
}

const hasDropped = ({ database }: WriteParts): boolean =>
  (database.value<number>('SELECT removals FROM ledger').get() ?? 0) > 0;

const createDialect = ({ sessions, appender, side, ownerId, salt }: WriteParts): SideStateDialect => ({
  ...sideDialect,
  ...markDialect,
  stored: storedSide,
  entriesAfter: 'SELECT position, text, bodies FROM entries WHERE position > ? ORDER BY position LIMIT ?',
  sealedCalls: sideDialect.sideTables.sealed.from,
  takeSession: async (_, sessionId) => sessions.take(sessionId).session,
  otherMarks: async (_, fold) => [
    ...[...fold.sessions].map(([sessionId, position]) => [markOf.session(sessionId), position] as const),
    ...[...fold.unsettled.values()].map(({ sessionId, toolName, inputDigest, callId, position }) => {
      const { session } = sessions.take(sessionId);
      return [markOf.effect(session, toolName, inputDigest, callId), position] as const;
    }),
  ],
  async stateTotals(_, entries) {
    for (const entry of entries) {
      const written = writeEntry(entry, ownerId, salt);
      appender.insert(sessions.take(ledgerSessionId), undefined, undefined, written, entry.totals.length);
      side.putTotals(entry.totals, appender.position);
    }
  },
});

const unrepairedError = (cause: unknown, path: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The ledger ${path} has a value that no program of ours wrote, such as a position without an end, so it cannot be rebuilt. ` +
      'Nothing was changed. `quittance verify` names the place. Restore a backup to another path: quittance restore FOLDER NEW.db',
    { path },
    cause,
  );

type Row = {
  readonly position: number;
  readonly session: number;
  readonly name: string | null;
  readonly call: string | null;
  readonly version: number | null;
  readonly text: string;
};

/**
 * Repairs the columns next to the texts of entries, and the rows of sessions. The text decides; a row whose text cannot be
 * read stays as it is.
 */
function rebuildSessions(parts: WriteParts, problems: string[]): void {
  const { database } = parts;
  mendColumns(parts, problems);
  database.run('UPDATE sessions SET sequence = 0, hash = NULL');
  const ends = database.row<{ session: number; sequence: number; hash: string }>(
    'SELECT session, max(sequence) AS sequence, hash FROM entries GROUP BY session',
  );
  for (const { session, sequence, hash } of ends.all())
    database.run('UPDATE sessions SET sequence = ?, hash = ? WHERE session = ?', sequence, hash, session);
}

/** Repairs the columns next to a text, and restores removed session rows. */
function mendColumns({ database }: WriteParts, problems: string[]): void {
  const rows = database.row<Row>(
    `SELECT position, e.session, name, call, version, text
     FROM entries AS e LEFT JOIN sessions AS s ON s.session = e.session ORDER BY position`,
  );
  const numberOf = database.value<number>('SELECT session FROM sessions WHERE name = ?');
  const wrong: Pick<Row, 'position' | 'session' | 'text'>[] = [];
  for (const row of rows.iterate()) if (!isSound(row)) wrong.push(row);
  for (const { position, session, text } of wrong)
    try {
      const { sessionId, callId, expectedVersion } = decode({ text, bodies: null });
      const name = toSqlText(sessionId);
      if (numberOf.get(name) === undefined)
        database.run('INSERT OR IGNORE INTO sessions (session, name) VALUES (?, ?)', session, name);
      database.run(
        'UPDATE entries SET session = ?, call = ?, version = ? WHERE position = ?',
        numberOf.get(name) ?? session,
        callId === undefined ? null : toSqlText(callId),
        callId === undefined || expectedVersion === 'any' ? null : expectedVersion + 1,
        position,
      );
    } catch (error) {
      problems.push(
        `The columns of the entry at position ${position} cannot be repaired: ` +
          `${error instanceof Error ? error.message : String(error)}`,
      );
    }
}

function isSound(row: Row): boolean {
  try {
    return row.name !== null && saysWhereItStands(row, fromSqlText(row.name));
  } catch {
    return false;
  }
}
