/**
 * Rebuilds the tables outside entries. The entries are read outside of any transaction, so that other processes can
 * append meanwhile. Their new entries are read inside the transaction that changes the tables.
 */
import { QuittanceError } from '../../base/error.ts';
import { SideFold, foldKey } from '../../ledger/side-fold.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { CounterTotal } from '../../ledger/claims.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { totalsEntry } from '../../ledger/own-entry.ts';
import { isRefusedValue, fromSqlText, toSqlText } from './database.ts';
import { decode } from '../sql/entries.ts';
import type { EntryTable } from './entry-table.ts';

import { toDamagedFileError } from './file-trouble.ts';
import { totalsPerEntry } from './first-marks.ts';
import { markOf } from './marks.ts';
import { beginRelisting, relist } from './relist.ts';
import { saysWhereItStands } from './sessions.ts';
import type { WriteParts } from './write-parts.ts';

const entriesAtOnce = 500;

/** Rebuilds the tables outside entries, and the rows of lists. Returns what could not be read, in words. */
export async function rebuildLedger(parts: WriteParts, at: number): Promise<readonly string[]> {
  const { path, transact } = parts;
  try {
    const problems = await rebuildSideTables(parts, at);
    await transact(() => beginRelisting(parts));
    return [...problems, ...(await relist(parts, transact))];
  } catch (error) {
    if (isRefusedValue(error)) throw unrepairedError(error, path);
    throw toDamagedFileError(error, path);
  }
}

const unrepairedError = (cause: unknown, path: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The ledger ${path} has a value that no program of ours wrote, such as a position without an end, so it cannot be rebuilt. ` +
      'Nothing was changed. `quittance verify` names the place. Restore a backup to another path: quittance restore FOLDER NEW.db',
    { path },
    cause,
  );

/** Returns the entries that could not be read, in words. The tables are rebuilt from the others. */
async function rebuildSideTables(parts: WriteParts, at: number): Promise<readonly string[]> {
  const { sql, entries, transact, sessions, side, appender } = parts;
  const removals = sql.value<number>('SELECT removals FROM ledger').get() ?? 0;
  const fold = new SideFold(undefined, { hasDropped: removals > 0 });
  const reading: Reading = { position: 0, problems: [] };
  while (addSome(fold, entries, reading)) await new Promise(setImmediate);
  await transact(() => {
    rebuildSessions(parts, reading.problems);
    sessions.forgetAll();
    appender.forget();
    side.forget();
    while (addSome(fold, entries, reading));
    sql.run('DELETE FROM marks');
    const put = (key: string, position: number): void =>
      void sql.run('INSERT OR REPLACE INTO marks VALUES (?, ?)', key, position);
    put(markOf.first, 0);
    for (const [sessionId, position] of fold.sessions) put(markOf.session(sessionId), position);
    putClaims(fold, parts, put);
    putUnsettled(fold, parts, put);
    putStates(fold, parts, put);
    putCounters(fold, parts, put);
    dropSealed(fold, parts, at);
    side.forget();
  });
  return reading.problems;
}

type Reading = { position: number; readonly problems: string[] };
const mostNamed = 20;

function addSome(fold: SideFold, entries: EntryTable, reading: Reading): boolean {
  const rows = entries.after(reading.position, entriesAtOnce);
  for (const row of rows) {
    reading.position = row.position;
    try {
      fold.add(decode(row), row.position);
    } catch (error) {
      if (reading.problems.length < mostNamed)
        reading.problems.push(
          `The entry at position ${row.position} cannot be read and is skipped: ` +
            `${error instanceof Error ? error.message : String(error)}`,
        );
    }
  }
  return rows.length === entriesAtOnce;
}

type PutMark = (key: string, position: number) => void;

function putClaims(fold: SideFold, { sql }: WriteParts, mark: PutMark): void {
  const found = new Set(sql.value<string>('SELECT key FROM claims').all());
  sql.run('DELETE FROM claims');
  for (const [name, holder] of fold.claims) {
    const key = toSqlText(name);
    if (!found.has(key) && fold.mayHaveLost(holder)) continue;
    const values = [holder.sessionId, holder.callId, holder.inputDigest].map(toSqlText);
    sql.run('INSERT INTO claims VALUES (?, ?, ?, ?)', key, ...values);
    mark(markOf.claim(name), holder.position);
  }
}

/**
 * If a session was removed, its usage may be recorded only here: then a counter is only ever raised. If the last
 * entry about a counter does not state its total, a new entry does.
 */
function putCounters(fold: SideFold, parts: WriteParts, mark: PutMark): void {
  const { sql, side, appender, sessions, ids, ownerId, salt } = parts;
  sql.run(fold.hasDropped ? 'UPDATE counters SET reserved = 0' : 'DELETE FROM counters');
  const put =
    'INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE ' +
    'SET used = max(used, excluded.used), reserved = excluded.reserved';
  for (const [name, { used, reserved }] of fold.counters) sql.run(put, toSqlText(name), used, reserved);
  type Row = { name: string; used: number; reserved: number };
  const untold: CounterTotal[] = [];
  for (const { name, used, reserved } of sql.row<Row>('SELECT name, used, reserved FROM counters').all()) {
    const counter = nameOf(name);
    if (counter === undefined) continue; // not written by this program
    const stated = fold.counters.get(counter)?.stated;
    if (stated?.used === used && stated.reserved === reserved) mark(markOf.counter(counter), stated.position);
    else untold.push({ counter, used, reserved });
  }
  for (let from = 0; from < untold.length; from += totalsPerEntry) {
    const totals = untold.slice(from, from + totalsPerEntry);
    const written = writeEntry(totalsEntry(totals, ids), ownerId, salt);
    appender.insert(sessions.take(ledgerSessionId), undefined, undefined, written, totals.length);
    side.putTotals(totals, appender.position);
  }
}

function putUnsettled(fold: SideFold, { sql, sessions }: WriteParts, mark: PutMark): void {
  sql.run('DELETE FROM unsettled');
  for (const { position, sessionId, toolName, inputDigest, callId } of fold.unsettled.values()) {
    const { session } = sessions.take(sessionId);
    const values = [toolName, inputDigest, callId].map(toSqlText);
    sql.run('INSERT INTO unsettled VALUES (?, ?, ?, ?, ?)', position, session, ...values);
    mark(markOf.effect(session, toolName, inputDigest, callId), position);
  }
}

/** A state that was erased from its entry stays as it is, if present. */
function putStates(fold: SideFold, { sql, sessions }: WriteParts, mark: PutMark): void {
  type Row = { session: number; subject: string; text: string };
  const rows = sql.row<Row>('SELECT session, subject, text FROM states').all();
  const found = new Map(rows.map(({ session, subject, text }) => [JSON.stringify([session, subject]), text]));
  sql.run('DELETE FROM states');
  for (const { sessionId, subject, version, state, position } of fold.states.values()) {
    const { session } = sessions.take(sessionId);
    const name = toSqlText(subject);
    const left = state === undefined ? found.get(JSON.stringify([session, name])) : undefined;
    const text = left ?? toSqlText(JSON.stringify(state ?? {}));
    sql.run('INSERT INTO states VALUES (?, ?, ?, ?)', session, name, version, text);
    mark(markOf.state(session, subject), position);
  }
}

function dropSealed(fold: SideFold, { sql }: WriteParts, at: number): void {
  const rows = sql
    .row<{ session: number; call: string; name: string | null }>(
      'SELECT session, call, name FROM sealed LEFT JOIN sessions USING (session)',
    )
    .all();
  for (const { session, call, name } of rows)
    if (name === null || !isNeeded(fold, name, call, at))
      sql.run('DELETE FROM sealed WHERE session = ? AND call = ?', session, call);
}

function nameOf(text: string): string | undefined {
  try {
    return fromSqlText(text);
  } catch {
    return undefined;
  }
}

/** For a call that is open, or that can still be undone. */
function isNeeded(fold: SideFold, name: string, call: string, now: number): boolean {
  try {
    const key = foldKey(fromSqlText(name), fromSqlText(call));
    const undoable = fold.undoable.get(key);
    if (undoable !== undefined) return undoable.until === undefined || now < undoable.until;
    const open = fold.open.get(key);
    return open?.needsSealed === true || open?.hidesFacts === true;
  } catch {
    return false; // not written by this program
  }
}

/**
 * Repairs the columns next to the texts of entries, and the rows of sessions. Runs inside a transaction. The text
 * decides; a row whose text cannot be read stays as it is.
 */

type Row = {
  readonly position: number;
  readonly session: number;
  readonly name: string | null;
  readonly call: string | null;
  readonly version: number | null;
  readonly text: string;
};

function rebuildSessions(parts: WriteParts, problems: string[]): void {
  const { sql } = parts;
  mendColumns(parts, problems);
  sql.run('UPDATE sessions SET sequence = 0, hash = NULL');
  const ends = sql.row<{ session: number; sequence: number; hash: string }>(
    'SELECT session, max(sequence) AS sequence, hash FROM entries GROUP BY session',
  );
  for (const { session, sequence, hash } of ends.all())
    sql.run('UPDATE sessions SET sequence = ?, hash = ? WHERE session = ?', sequence, hash, session);
}

/** Repairs the columns next to a text, and restores removed session rows. */
function mendColumns({ sql }: WriteParts, problems: string[]): void {
  const rows = sql.row<Row>(
    `SELECT position, e.session, name, call, version, text
     FROM entries AS e LEFT JOIN sessions AS s ON s.session = e.session ORDER BY position`,
  );
  const numberOf = sql.value<number>('SELECT session FROM sessions WHERE name = ?');
  const wrong: Pick<Row, 'position' | 'session' | 'text'>[] = [];
  for (const row of rows.iterate()) if (!isSound(row)) wrong.push(row);
  for (const { position, session, text } of wrong)
    try {
      const { sessionId, callId, expectedVersion } = decode({ text, bodies: null });
      const name = toSqlText(sessionId);
      if (numberOf.get(name) === undefined)
        sql.run('INSERT OR IGNORE INTO sessions (session, name) VALUES (?, ?)', session, name);
      sql.run(
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
