/**
 * Rebuilds the index of entries, and the session columns and rows it depends on, from the texts of the entries. Runs
 * inside a transaction. The text decides; a row whose text cannot be read stays as it is.
 */
import type { Database } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import { decode } from './entry-row.ts';
import { saysWhereItStands } from './tail-entry.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';

type Row = {
  readonly position: number;
  readonly session: number;
  readonly name: string | null;
  readonly call: string | null;
  readonly version: number | null;
  readonly text: string;
};

export function rebuildIndex(database: Database, problems: string[]): void {
  mendColumns(database, problems);
  prepareRow<never>(database, 'DELETE FROM entry_index').run();
  prepareRow<never>(
    database,
    `INSERT INTO entry_index
     SELECT session, named, min(position), max(position), group_concat(position), CASE WHEN named <> '' THEN max(version) END
     FROM (SELECT session, coalesce(call, '') AS named, position, version FROM entries ORDER BY position)
     GROUP BY session, named`,
  ).run();
  prepareRow<never>(database, 'UPDATE sessions SET sequence = 0, hash = NULL').run();
  const setHead = prepareRow<never>(database, 'UPDATE sessions SET sequence = ?, hash = ? WHERE session = ?');
  const ends = prepareRow<{ session: number; sequence: number; hash: string }>(
    database,
    'SELECT session, max(sequence) AS sequence, hash FROM entries GROUP BY session',
  );
  for (const { session, sequence, hash } of ends.all()) setHead.run(sequence, hash, session);
  prepareRow<never>(
    database,
    'UPDATE ledger SET indexed = (SELECT coalesce(max(position), 0) FROM entries)',
  ).run();
}

/** Repairs the columns next to a text, and restores removed session rows. */
function mendColumns(database: Database, problems: string[]): void {
  const rows = prepareRow<Row>(
    database,
    `SELECT position, e.session, name, call, version, text
     FROM entries AS e LEFT JOIN sessions AS s ON s.session = e.session ORDER BY position`,
  );
  const numberOf = prepareValue<number>(database, 'SELECT session FROM sessions WHERE name = ?');
  const list = prepareRow<never>(database, 'INSERT OR IGNORE INTO sessions (session, name) VALUES (?, ?)');
  const mend = prepareRow<never>(
    database,
    'UPDATE entries SET session = ?, call = ?, version = ? WHERE position = ?',
  );
  const wrong = rows.all().filter((row) => !isSound(row));
  for (const { position, session, text } of wrong)
    try {
      const { sessionId, callId, expectedVersion } = decode({ text, bodies: null });
      const name = toSqlText(sessionId);
      if (numberOf.get(name) === undefined) list.run(session, name);
      mend.run(
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
