/** Makes the heads and the tables outside the entries again, from the entries. Appends wait until it is done. */
import { createIds } from '../../base/ids.ts';
import { genesisHash } from '../../ledger/chain.ts';
import type { CounterTotal } from '../../ledger/claims.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import { SideFold, foldKey } from '../../ledger/side-fold.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { totalsEntry } from '../../ledger/own-entry.ts';
import { createSalts } from '../files/salts.ts';
import { exactNumbers } from './exact-numbers.ts';
import { appendOwnEntry } from './append-own-entry.ts';
import type { EntryRow } from './entry-row.ts';
import { decodeEntryRow, entryColumns } from './entry-row.ts';
import { withLiftedPositions } from './lift-positions.ts';
import type { PgPool, PgQuery } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';
import { toTextArray } from './text-array.ts';

const entriesAtOnce = 1_000;
const mostNamed = 20;

/** Returns a sentence about each entry that could not be read. */
export const rebuildSideTables = (pool: PgPool, now: () => number): Promise<readonly string[]> =>
  withLiftedPositions(pool, () => pool.longTransaction((query) => rebuildWith(query, now())));

/** The same inside a transaction. */
export async function rebuildWith(query: PgQuery, now: number): Promise<readonly string[]> {
  await query('LOCK TABLE @sessions IN ACCESS EXCLUSIVE MODE');
  const problems: string[] = [];
  const fold = await foldAll(query, problems);
  await query('DELETE FROM @marks');
  await putMarks(query, [['', 0]]);
  await putHeads(query);
  await putClaims(query, fold);
  await putCounters(query, fold);
  await putUnsettled(query, fold);
  await putStates(query, fold);
  await dropSealed(query, fold, now);
  for (const table of ['read_calls', 'read_confirmations', 'read_sessions', 'read_tallies', 'read_words'])
    await query(`DELETE FROM @${table}`);
  await query('DELETE FROM @read_parts WHERE part > 0');
  await query('UPDATE @read_parts SET written = 0, first_at = NULL, last_at = NULL');
  await query('UPDATE @read_progress SET position = 0');
  return problems;
}

async function foldAll(query: PgQuery, problems: string[]): Promise<SideFold> {
  const [own] = await query<{ dropped: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM @entries WHERE session_id = $1 AND strpos(text, '"session.dropped"') > 0) AS dropped`,
    [toPgText(ledgerSessionId)],
  );
  const fold = new SideFold(undefined, { hasDropped: own?.dropped === true });
  for (let position = -1; ;) {
    const rows: readonly EntryRow[] = await query<EntryRow>(
      `SELECT ${entryColumns} FROM @entries e WHERE e.position > $1 ORDER BY e.position LIMIT $2`,
      [position, entriesAtOnce],
    );
    for (const row of rows)
      try {
        fold.add(decodeEntryRow(row), row.position);
      } catch (error) {
        if (problems.length < mostNamed)
          problems.push(
            `The entry at position ${row.position} cannot be read and is left out: ${error instanceof Error ? error.message : String(error)}`,
          );
      }
    const last = rows.at(-1);
    if (last === undefined || rows.length < entriesAtOnce) return fold;
    ({ position } = last);
  }
}

async function putHeads(query: PgQuery): Promise<void> {
  await query('DELETE FROM @sessions');
  await query(
    `INSERT INTO @sessions (session_id, sequence, hash, position)
     SELECT DISTINCT ON (session_id) session_id, sequence, hash, position FROM @entries
     ORDER BY session_id, sequence DESC`,
  );
}

async function putClaims(query: PgQuery, fold: SideFold): Promise<void> {
  const found = new Set((await query<{ key: string }>('SELECT key FROM @claims')).map(({ key }) => key));
  await query('DELETE FROM @claims');
  const rows = [...fold.claims]
    .filter(([key, holder]) => found.has(toPgText(key)) || !fold.mayHaveLost(holder))
    .map(([key, holder]) => ({
      key: toPgText(key),
      session_id: toPgText(holder.sessionId),
      call_id: toPgText(holder.callId),
      digest: toPgText(holder.inputDigest),
    }));
  await query(insertAll('claims'), [JSON.stringify(rows)]);
  await putMarks(
    query,
    rows.map(({ key }) => [`claim ${key}`, fold.claims.get(fromPgText(key))?.position ?? 0]),
  );
}

/**
 * A removed session may have used more than the entries tell: then a counter is only ever raised. If the last entry about
 * a counter does not state its total, a new entry does.
 */
async function putCounters(query: PgQuery, fold: SideFold): Promise<void> {
  if (fold.hasDropped) await query('UPDATE @counters SET reserved = 0');
  else await query('DELETE FROM @counters');
  const rows = [...fold.counters].map(([name, { used, reserved, stated }]) => ({
    name: toPgText(name),
    used,
    reserved,
    position: stated?.position ?? 0,
  }));
  await query(
    `${insertAll('counters')} ON CONFLICT (name) DO UPDATE
       SET used = greatest(c.used, excluded.used), reserved = excluded.reserved, position = excluded.position`,
    [JSON.stringify(rows)],
  );
  const found = await query<{ name: string; used: number; reserved: number }>(
    `SELECT ${exactNumbers}, name, used, reserved FROM @counters WHERE position IS NOT NULL ORDER BY name`,
  );
  const marks: Mark[] = [];
  const untold: CounterTotal[] = [];
  for (const { name, used, reserved } of found) {
    const counter = fromPgText(name);
    const stated = fold.counters.get(counter)?.stated;
    if (stated?.used === used && stated.reserved === reserved)
      marks.push([`counter ${name}`, stated.position]);
    else untold.push({ counter, used, reserved });
  }
  await putMarks(query, marks);
  await stateTotals(query, untold);
}

/** Appends entries that state these totals to the ledger's own chain. */
async function stateTotals(query: PgQuery, untold: readonly CounterTotal[]): Promise<void> {
  if (untold.length === 0) return;
  const [locked] = await query<{ first: number }>('SELECT first FROM @lock_heads($1, $2, true)', [
    toTextArray([toPgText(ledgerSessionId)]),
    toTextArray([genesisHash(ledgerSessionId)]),
  ]);
  const [ids, salt] = [createIds(), createSalts()];
  let position = locked?.first ?? 0;
  for (let from = 0; from < untold.length; from += totalsPerEntry, position++) {
    const totals = untold.slice(from, from + totalsPerEntry);
    await appendOwnEntry(query, writeEntry(totalsEntry(totals, ids), '', salt), ledgerSessionId, position);
    const names = totals.map(({ counter }) => toPgText(counter));
    await query('UPDATE @counters SET position = $2 WHERE name = ANY ($1::text[])', [
      toTextArray(names),
      position,
    ]);
    await putMarks(
      query,
      names.map((name) => [`counter ${name}`, position]),
    );
  }
}

type Mark = readonly [key: string, position: number];

/** Keeps entries bounded. */
const totalsPerEntry = 500;

async function putMarks(query: PgQuery, marks: readonly Mark[]): Promise<void> {
  await query(
    'INSERT INTO @marks (key, position) SELECT x.key, x.at::bigint FROM unnest($1::text[], $2::text[]) x(key, at)',
    [toTextArray(marks.map(([key]) => key)), toTextArray(marks.map(([, position]) => String(position)))],
  );
}

async function putUnsettled(query: PgQuery, fold: SideFold): Promise<void> {
  await query('DELETE FROM @unsettled');
  const rows = [...fold.unsettled.values()].map(({ sessionId, toolName, inputDigest, callId, position }) => ({
    session_id: toPgText(sessionId),
    tool: toPgText(toolName),
    digest: toPgText(inputDigest),
    call_id: toPgText(callId),
    position,
  }));
  await query(insertAll('unsettled'), [JSON.stringify(rows)]);
  await query(
    'UPDATE @sessions SET doubts = @doubts_of(session_id) WHERE session_id IN (SELECT session_id FROM @unsettled)',
  );
}

/** A state whose entry was erased stays as it is. */
async function putStates(query: PgQuery, fold: SideFold): Promise<void> {
  type Row = { readonly session_id: string; readonly subject: string; readonly text: string };
  const left = new Map(
    (await query<Row>('SELECT session_id, subject, text FROM @states')).map((row) => [
      JSON.stringify([row.session_id, row.subject]),
      row.text,
    ]),
  );
  await query('DELETE FROM @states');
  const rows = [...fold.states.values()].map(({ sessionId, subject, version, state }) => {
    const key = { session_id: toPgText(sessionId), subject: toPgText(subject) };
    const kept = state === undefined ? left.get(JSON.stringify([key.session_id, key.subject])) : undefined;
    return { ...key, version, text: kept ?? JSON.stringify(state ?? {}) };
  });
  await query(insertAll('states'), [JSON.stringify(rows)]);
  await query(
    `INSERT INTO @marks (key, position) SELECT @state_mark(x.session, x.subject), x.at::bigint
     FROM unnest($1::text[], $2::text[], $3::text[]) x(session, subject, at)`,
    [
      toTextArray(rows.map(({ session_id }) => session_id)),
      toTextArray(rows.map(({ subject }) => subject)),
      toTextArray([...fold.states.values()].map(({ position }) => String(position))),
    ],
  );
}

async function dropSealed(query: PgQuery, fold: SideFold, now: number): Promise<void> {
  const rows = await query<{ session_id: string; call_id: string }>(
    'SELECT session_id, call_id FROM @sealed',
  );
  for (const { session_id, call_id } of rows)
    if (!isNeeded(fold, session_id, call_id, now))
      await query('DELETE FROM @sealed WHERE session_id = $1 AND call_id = $2', [session_id, call_id]);
}

/** An open call needs its sealed input, and so does a call that can still be undone. */
function isNeeded(fold: SideFold, session: string, call: string, now: number): boolean {
  try {
    const key = foldKey(fromPgText(session), fromPgText(call));
    const undoable = fold.undoable.get(key);
    if (undoable !== undefined) return undoable.until === undefined || now < undoable.until;
    return fold.open.get(key)?.needsSealed === true;
  } catch {
    return false; // this program did not write the row
  }
}

const insertAll = (table: string): string =>
  `INSERT INTO @${table} AS c SELECT * FROM jsonb_populate_recordset(NULL::@${table}, $1::jsonb)`;
