/**
 * Rebuilds the tables outside entries. The entries are read outside of any transaction, so that other processes can
 * append meanwhile. Their new entries are read inside the transaction that changes the tables.
 */
import { createIds } from '../../base/ids.ts';
import { SideFold, foldKey } from '../../ledger/side-fold.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { CounterTotal } from '../../ledger/claims.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { totalsEntry } from '../../ledger/own-entry.ts';
import type { Appender } from './appender.ts';
import type { Database } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import { decode } from './entry-row.ts';
import { totalsPerEntry } from './first-marks.ts';
import type { Heads } from './heads.ts';
import { rebuildIndex } from './index-rebuild.ts';
import { markOf } from './marks.ts';
import { createSalts } from '../files/salts.ts';
import type { SideTables } from './side-tables.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';
import type { Writer } from './writer.ts';

const entriesAtOnce = 500;

export type SideRebuildParts = {
  readonly database: Database;
  readonly entries: EntryTable;
  readonly heads: Heads;
  readonly side: SideTables;
  readonly appender: Appender;
  readonly writer: Writer;
  readonly ownerId: string;
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly now: () => number;
};

/** Returns the entries that could not be read, in words. The tables are rebuilt from the others. */
export async function rebuildSideTables(parts: SideRebuildParts): Promise<readonly string[]> {
  const { entries, writer, heads } = parts;
  const removals = prepareValue<number>(parts.database, 'SELECT removals FROM ledger').get() ?? 0;
  const fold = new SideFold(undefined, { hasDropped: removals > 0 });
  const reading: Reading = { position: 0, problems: [] };
  while (addSome(fold, entries, reading)) await new Promise(setImmediate);
  await writer.run(() => {
    rebuildIndex(parts.database, reading.problems);
    heads.forget();
    heads.refreshNow();
    while (addSome(fold, entries, reading));
    const marks = prepareRow<never>(parts.database, 'INSERT OR REPLACE INTO marks VALUES (?, ?)');
    prepareRow<never>(parts.database, 'DELETE FROM marks').run();
    const put = (key: string, position: number): void => void marks.run(key, position);
    put(markOf.first, 0);
    for (const [sessionId, position] of fold.sessions) put(markOf.session(sessionId), position);
    putClaims(fold, parts, put);
    putUnsettled(fold, parts, put);
    putStates(fold, parts, put);
    putCounters(fold, parts, put);
    dropSealed(fold, parts);
    heads.forget();
    heads.refreshNow();
    heads.hasUnsettled = fold.unsettled.size > 0;
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

function putClaims(fold: SideFold, { database }: SideRebuildParts, mark: PutMark): void {
  const found = new Set(prepareRow<{ key: string }>(database, 'SELECT key FROM claims').all().map(keyOf));
  prepareRow<never>(database, 'DELETE FROM claims').run();
  const put = prepareRow<never>(database, 'INSERT INTO claims VALUES (?, ?, ?, ?)');
  for (const [name, holder] of fold.claims) {
    const key = toSqlText(name);
    if (!found.has(key) && fold.mayHaveLost(holder)) continue;
    put.run(key, toSqlText(holder.sessionId), toSqlText(holder.callId), toSqlText(holder.inputDigest));
    mark(markOf.claim(name), holder.position);
  }
}

const keyOf = ({ key }: { readonly key: string }): string => key;

/**
 * If a session was removed, its usage may be recorded only here: then a counter is only ever raised. If the last
 * entry about a counter does not state its total, a new entry does.
 */
function putCounters(fold: SideFold, parts: SideRebuildParts, mark: PutMark): void {
  const { database, side, appender, heads, ownerId } = parts;
  if (!fold.hasDropped) prepareRow<never>(database, 'DELETE FROM counters').run();
  else prepareRow<never>(database, 'UPDATE counters SET reserved = 0').run();
  const put = prepareRow<never>(
    database,
    'INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE ' +
      'SET used = max(used, excluded.used), reserved = excluded.reserved',
  );
  for (const [name, { used, reserved }] of fold.counters) put.run(toSqlText(name), used, reserved);
  type Row = { name: string; used: number; reserved: number };
  const untold: CounterTotal[] = [];
  for (const { name, used, reserved } of prepareRow<Row>(
    database,
    'SELECT name, used, reserved FROM counters',
  ).all()) {
    const counter = nameOf(name);
    if (counter === undefined) continue; // not written by this program
    const stated = fold.counters.get(counter)?.stated;
    if (stated?.used === used && stated.reserved === reserved) mark(markOf.counter(counter), stated.position);
    else untold.push({ counter, used, reserved });
  }
  const ids = createIds();
  const salt = createSalts();
  for (let from = 0; from < untold.length; from += totalsPerEntry) {
    const totals = untold.slice(from, from + totalsPerEntry);
    const written = writeEntry(totalsEntry(totals, ids), ownerId, salt);
    appender.insert(heads.take(ledgerSessionId), undefined, undefined, written, totals.length);
    side.putTotals(totals, heads.position);
  }
}

function putUnsettled(fold: SideFold, { database, heads }: SideRebuildParts, mark: PutMark): void {
  prepareRow<never>(database, 'DELETE FROM unsettled').run();
  const put = prepareRow<never>(database, 'INSERT INTO unsettled VALUES (?, ?, ?, ?, ?)');
  for (const { position, sessionId, toolName, inputDigest, callId } of fold.unsettled.values()) {
    const { session } = heads.take(sessionId);
    put.run(position, session, toSqlText(toolName), toSqlText(inputDigest), toSqlText(callId));
    mark(markOf.effect(session, toolName, inputDigest, callId), position);
  }
}

/** A state that was erased from its entry stays as it is, if present. */
function putStates(fold: SideFold, { database, heads }: SideRebuildParts, mark: PutMark): void {
  type Row = { session: number; subject: string; text: string };
  const rows = prepareRow<Row>(database, 'SELECT session, subject, text FROM states').all();
  const found = new Map(rows.map(({ session, subject, text }) => [JSON.stringify([session, subject]), text]));
  prepareRow<never>(database, 'DELETE FROM states').run();
  const put = prepareRow<never>(database, 'INSERT INTO states VALUES (?, ?, ?, ?)');
  for (const { sessionId, subject, version, state, position } of fold.states.values()) {
    const { session } = heads.take(sessionId);
    const name = toSqlText(subject);
    const left = state === undefined ? found.get(JSON.stringify([session, name])) : undefined;
    put.run(session, name, version, left ?? toSqlText(JSON.stringify(state ?? {})));
    mark(markOf.state(session, subject), position);
  }
}

function dropSealed(fold: SideFold, { database, now }: SideRebuildParts): void {
  const rows = prepareRow<{ session: number; call: string; name: string | null }>(
    database,
    'SELECT session, call, name FROM sealed LEFT JOIN sessions USING (session)',
  ).all();
  const drop = prepareRow<never>(database, 'DELETE FROM sealed WHERE session = ? AND call = ?');
  for (const { session, call, name } of rows)
    if (name === null || !isNeeded(fold, name, call, now())) drop.run(session, call);
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
    return fold.open.get(key)?.needsSealed === true;
  } catch {
    return false; // not written by this program
  }
}
