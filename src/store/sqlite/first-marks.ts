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
import type { Database, Statement } from './database.ts';
import { prepareRow } from './database.ts';
import { EntryTable } from './entry-table.ts';
import { decode } from './entry-row.ts';
import { Heads } from './heads.ts';
import { markOf } from './marks.ts';
import { createSalts } from '../files/salts.ts';
import { fromSqlText } from './sql-text.ts';

/** Keeps entries bounded. */
export const totalsPerEntry = 500;

type Parts = {
  readonly database: Database;
  readonly heads: Heads;
  readonly entries: EntryTable;
  readonly put: Statement<never>;
};

export function setFirstMarks(database: Database): void {
  const heads = new Heads(database, Number.POSITIVE_INFINITY);
  const parts: Parts = {
    database,
    heads,
    entries: new EntryTable(database, heads),
    put: prepareRow<never>(database, 'INSERT OR REPLACE INTO marks VALUES (?, ?)'),
  };
  parts.put.run(markOf.first, 0);
  heads.refreshNow();
  markClaims(parts);
  markStates(parts);
  markEffects(parts);
  for (const head of heads.all()) {
    const [first] = heads.index.positionsIn(head, 0, 1);
    if (first !== undefined) parts.put.run(markOf.session(head.sessionId), first);
  }
  markCounters(parts);
}

/** A claim whose entry cannot be found keeps its row, which still blocks other calls from the key. */
function markClaims({ database, heads, entries, put }: Parts): void {
  type Row = { key: string; session: string; call: string };
  for (const row of prepareRow<Row>(database, 'SELECT key, session, call FROM claims').all()) {
    const key = fromSqlText(row.key);
    const head = heads.find(fromSqlText(row.session));
    const found = head && entries.ofCall(head, fromSqlText(row.call));
    const claiming = found?.findLast((entry) => decode(entry).claim?.key === key);
    if (claiming !== undefined) put.run(markOf.claim(key), claiming.position);
  }
}

function markStates({ database, heads, entries, put }: Parts): void {
  const sessions = prepareRow<{ name: string }>(
    database,
    'SELECT DISTINCT name FROM states JOIN sessions USING (session)',
  );
  for (const { name } of sessions.all()) {
    const head = heads.find(fromSqlText(name));
    for (const row of head === undefined ? [] : entries.ofSession(head))
      for (const { subject } of decode(row).moves ?? [])
        put.run(markOf.state(row.session, subject), row.position);
  }
}

function markEffects({ database, put }: Parts): void {
  type Row = { position: number; session: number; tool: string; digest: string; call: string };
  const rows = prepareRow<Row>(database, 'SELECT position, session, tool, digest, call FROM unsettled');
  for (const { position, session, tool, digest, call } of rows.all())
    put.run(markOf.effect(session, fromSqlText(tool), fromSqlText(digest), fromSqlText(call)), position);
}

function markCounters({ database, heads, put }: Parts): void {
  const ids = createIds();
  const salt = createSalts();
  const insert = prepareRow<never>(database, 'INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  type Row = { name: string; used: number; reserved: number };
  const rows = prepareRow<Row>(database, 'SELECT name, used, reserved FROM counters').all();
  for (let from = 0; from < rows.length; from += totalsPerEntry) {
    const totals = rows.slice(from, from + totalsPerEntry).map(({ name, used, reserved }): CounterTotal => {
      return { counter: fromSqlText(name), used, reserved };
    });
    const { text } = writeEntry(totalsEntry(totals, ids), ids.next('own'), salt);
    const head = heads.take(ledgerSessionId);
    const position = heads.position + 1;
    const sequence = head.sequence + 1;
    const hash = chainHash(head.hash, sequence, text);
    if (sequence === 1) put.run(markOf.session(ledgerSessionId), position);
    insert.run(position, head.session, sequence, null, null, text, null, null, hash, totals.length);
    heads.note(head, { position, sequence, call: null, version: null, hash });
    for (const { counter } of totals) put.run(markOf.counter(counter), position);
  }
}
