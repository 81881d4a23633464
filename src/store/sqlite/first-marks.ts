/**
 * Sets the marks of a file from a version without marks: for its claims, counters, states, unresolved effects and
 * sessions. Entries of old versions do not state counter totals, so new entries of the ledger's own chain do. Part of
 * the transaction that upgrades the file.
 */
import { createIds } from '../../base/ids.ts';
import { chainHash } from '../../ledger/chain.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { CounterTotal } from '../../ledger/claims.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { totalsEntry } from '../../ledger/own-entry.ts';
import { createSalts } from '../files/spill-file.ts';
import type { Database } from './database.ts';
import { fromSqlText } from './database.ts';
import { decode } from '../sql/entries.ts';
import { EntryTable } from './entry-table.ts';
import { markOf } from './marks.ts';
import { Sessions } from './sessions.ts';
import { Statements } from './statements.ts';

/** Keeps entries bounded. */
export const totalsPerEntry = 500;

type Parts = {
  readonly sql: Statements;
  readonly sessions: Sessions;
  readonly entries: EntryTable;
  readonly put: (key: string, position: number) => void;
};

export function setFirstMarks(database: Database): void {
  const sql = new Statements(database);
  const parts: Parts = {
    sql,
    sessions: new Sessions(sql),
    entries: new EntryTable(sql),
    put: (key, position) => void sql.run('INSERT OR REPLACE INTO marks VALUES (?, ?)', key, position),
  };
  parts.put(markOf.first, 0);
  markClaims(parts);
  markStates(parts);
  markEffects(parts);
  type First = { name: string; position: number };
  const firsts = sql.row<First>(
    'SELECT name, min(position) AS position FROM entries JOIN sessions USING (session) GROUP BY session',
  );
  for (const { name, position } of firsts.all()) parts.put(markOf.session(fromSqlText(name)), position);
  markCounters(parts);
}

/** A claim whose entry cannot be found keeps its row, which still blocks other calls from the key. */
function markClaims({ sql, sessions, entries, put }: Parts): void {
  type Row = { key: string; session: string; call: string };
  for (const row of sql.row<Row>('SELECT key, session, call FROM claims').all()) {
    const key = fromSqlText(row.key);
    const session = sessions.read(fromSqlText(row.session));
    const found = session && entries.ofCall(session, fromSqlText(row.call));
    const claiming = found?.findLast(({ entry }) => entry.claim?.key === key)?.row;
    if (claiming !== undefined) put(markOf.claim(key), claiming.position);
  }
}

function markStates({ sql, sessions, entries, put }: Parts): void {
  const names = sql.value<string>('SELECT DISTINCT name FROM states JOIN sessions USING (session)');
  for (const name of names.all()) {
    const session = sessions.read(fromSqlText(name));
    for (const row of session === undefined ? [] : entries.ofSession(session))
      for (const { subject } of decode(row).moves ?? [])
        put(markOf.state(row.session, subject), row.position);
  }
}

function markEffects({ sql, put }: Parts): void {
  type Row = { position: number; session: number; tool: string; digest: string; call: string };
  const rows = sql.row<Row>('SELECT position, session, tool, digest, call FROM unsettled');
  for (const { position, session, tool, digest, call } of rows.all())
    put(markOf.effect(session, fromSqlText(tool), fromSqlText(digest), fromSqlText(call)), position);
}

function markCounters({ sql, sessions, entries, put }: Parts): void {
  const ids = createIds();
  const salt = createSalts();
  type Row = { name: string; used: number; reserved: number };
  const rows = sql.row<Row>('SELECT name, used, reserved FROM counters').all();
  for (let from = 0; from < rows.length; from += totalsPerEntry) {
    const totals = rows.slice(from, from + totalsPerEntry).map(({ name, used, reserved }): CounterTotal => {
      return { counter: fromSqlText(name), used, reserved };
    });
    const { text } = writeEntry(totalsEntry(totals, ids), ids.next('own'), salt);
    const own = sessions.take(ledgerSessionId);
    const position = entries.lastPosition() + 1;
    const sequence = own.sequence + 1;
    const hash = chainHash(own.hash, sequence, text);
    if (sequence === 1) put(markOf.session(ledgerSessionId), position);
    sql.run(
      'INSERT INTO entries VALUES (?, ?, ?, NULL, NULL, ?, NULL, NULL, ?, ?, NULL)',
      position,
      own.session,
      sequence,
      text,
      hash,
      totals.length,
    );
    sessions.grow(own, sequence, hash);
    for (const { counter } of totals) put(markOf.counter(counter), position);
  }
  sessions.flush();
}
