/** Makes the heads and the tables outside the entries again, from the entries. Appends wait until it is done. */
import { genesisHash } from 'quittance/internal/ledger/chain';
import type { CounterTotal } from 'quittance/internal/ledger/claims';
import { ledgerSessionId } from 'quittance/internal/ledger/ledger';
import { createSalts } from 'quittance/internal/store/files/spill-file';
import { toPgText, toTextArray } from './pg-values.ts';
import { decode } from 'quittance/internal/store/sql/entries';
import { withLiftedPositions } from './positions.ts';
import type { PgPool, PgQuery } from './pg-pool.ts';
import type { JsonObject } from 'quittance/internal/base/json';
import { hourMs, newSessionTally, countEvent } from 'quittance/internal/ledger/call-tally';
import type { ListedCall } from 'quittance/internal/ledger/listed-call';
import { listCall } from 'quittance/internal/ledger/listed-call';
import { readCallsInOrder } from 'quittance/internal/store/sql/calls-in-order';
import { toHeadRow, toListed, sessionCounts } from './list-functions.ts';
import type { SideStateDialect, TotalsEntry } from 'quittance/internal/store/sql/side-state';
import { rebuildSideState, startFold } from 'quittance/internal/store/sql/side-state';
import {
  createPgDriver,
  createPgReader,
  entriesInOrder,
  pgMarks,
  sideDialect,
  storedSide,
} from './dialect.ts';
import { listIndexes } from './migrations.ts';
import { writeEntry } from 'quittance/internal/ledger/formats/v1/write-entry';
import type { Entry } from 'quittance/internal/ledger/journal';

/** Returns a sentence about each entry that could not be read. */
export const rebuildSideTables = (pool: PgPool, now: () => number): Promise<readonly string[]> =>
  withLiftedPositions(pool, () => pool.longTransaction((query) => rebuildWith(query, now())));

/** The same inside a transaction. */
export async function rebuildWith(query: PgQuery, now: number): Promise<readonly string[]> {
  await query('LOCK TABLE @sessions IN ACCESS EXCLUSIVE MODE');
  const [own] = await query<{ dropped: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM @entries WHERE session_id = $1 AND strpos(text, '"session.dropped"') > 0) AS dropped`,
    [toPgText(ledgerSessionId)],
  );
  await putHeads(query);
  const folded = startFold(own?.dropped === true);
  const dialect: SideStateDialect = {
    ...sideDialect,
    ...pgMarks,
    ...storedSide,
    entriesAfter: 'SELECT position, text, bodies FROM @entries WHERE position > ? ORDER BY position LIMIT ?',
    sealedCalls: 'SELECT session_id AS session, session_id, call_id FROM @sealed',
    otherMarks: async () => [],
    stateTotals: (_, entries) => stateTotals(query, entries),
  };
  await rebuildSideState(createPgDriver(query), dialect, folded, now);
  await query(
    'UPDATE @sessions SET doubts = @doubts_of(session_id) WHERE session_id IN (SELECT session_id FROM @unsettled)',
  );
  return folded.problems;
}

async function putHeads(query: PgQuery): Promise<void> {
  await query('DELETE FROM @sessions WHERE session_id NOT IN (SELECT session_id FROM @entries)');
  await query(
    `INSERT INTO @sessions (session_id, sequence, hash, position)
     SELECT DISTINCT ON (session_id) session_id, sequence, hash, position FROM @entries
     ORDER BY session_id, sequence DESC
     ON CONFLICT (session_id) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash,
       position = excluded.position, doubts = NULL`,
  );
}

/** Appends entries that state totals to the ledger's own chain. */
async function stateTotals(query: PgQuery, entries: readonly TotalsEntry[]): Promise<void> {
  const [locked] = await query<{ first: number }>('SELECT first FROM @lock_heads($1, $2, true)', [
    toTextArray([toPgText(ledgerSessionId)]),
    toTextArray([genesisHash(ledgerSessionId)]),
  ]);
  const salt = createSalts();
  for (const [index, entry] of entries.entries()) {
    const position = (locked?.first ?? 0) + index;
    await appendOwnEntry(query, entry, { ownerId: '', salt }, position);
    const names = toTextArray(entry.totals.map(({ counter }) => toPgText(counter)));
    await query('UPDATE @counters SET position = $2 WHERE name = ANY ($1::text[])', [names, position]);
    await query(`SELECT @put_mark('counter ' || n, $2) FROM unnest($1::text[]) n`, [names, position]);
  }
}

/**
 * Makes the rows of the lists again from the entries, some sessions in one transaction. Appends go on meanwhile: each
 * transaction locks the heads of its sessions first, as an append does.
 *
 * A ledger of an older version has no such rows. `fillLists` makes them before the ledger is opened. The column
 * `fill_after` of the table `ledger` has the last session that is done, and null when all are. So several processes may
 * fill by turns, and a process that is killed loses at most the sessions of one transaction.
 */

/** Runs work in a transaction. */
type Run = <Result>(work: (query: PgQuery) => Promise<Result>) => Promise<Result>;
/** How many entries are in the lists, and how many there are. */
export type FillProgress = { readonly position: number; readonly end: number };

/** A transaction takes at least one session, whatever its length. */
const entriesAtOnce = 3_000;
const sessionsAtOnce = 500;
const callsPerPage = 250;

/** Makes all rows again, and removes those that no entry tells. */
export async function relistAll(pool: PgPool): Promise<void> {
  await relistWith((work) => pool.longTransaction(work));
  await pool.longTransaction(recount);
}

/** The same inside a transaction. */
export async function relistIn(query: PgQuery): Promise<void> {
  await relistWith((work) => work(query));
  await recount(query);
}

async function relistWith(run: Run): Promise<void> {
  await run(removeSurplus);
  let after: string | undefined = '';
  while (after !== undefined) after = await run((query) => relistSome(query, after ?? ''));
}

/** Fills the lists of a ledger that an older version wrote, if that is not done. */
export async function fillLists(
  pool: PgPool,
  onProgress: (progress: FillProgress) => void = () => undefined,
): Promise<void> {
  const [row] = await pool.query<{ total: number | null }>(
    `SELECT (SELECT sum(s.sequence)::bigint FROM @sessions s WHERE s.session_id > l.fill_after) AS total
     FROM @ledger l WHERE l.fill_after IS NOT NULL`,
  );
  if (row === undefined) return;
  const total = row.total ?? 0;
  for (let left: number | undefined = total; left !== undefined;) {
    left = await pool.longTransaction(fillSome);
    if (left !== undefined) onProgress({ position: total - left, end: total });
  }
  await pool.longTransaction(async (query) => {
    const [mark] = await query<{ fill_after: string | null }>('SELECT fill_after FROM @ledger FOR UPDATE');
    if (typeof mark?.fill_after !== 'string') return;
    await recount(query);
    for (const [table, name, definition] of listIndexes)
      await query(`CREATE INDEX IF NOT EXISTS ${name} ON @${table} ${definition}`);
    await query('UPDATE @ledger SET fill_after = NULL');
  });
}

/** Returns how many entries are left; undefined if there were none. */
async function fillSome(query: PgQuery): Promise<number | undefined> {
  const [mark] = await query<{ fill_after: string | null }>('SELECT fill_after FROM @ledger FOR UPDATE');
  if (typeof mark?.fill_after !== 'string') return undefined;
  const last = await relistSome(query, mark.fill_after);
  if (last === undefined) return undefined;
  await query('UPDATE @ledger SET fill_after = $1', [last]);
  const [row] = await query<{ left: number | null }>(
    'SELECT sum(sequence)::bigint AS left FROM @sessions WHERE session_id > $1',
    [last],
  );
  return row?.left ?? 0;
}

/** Makes the rows of the next sessions. Returns the last of them, or undefined if every session has its rows. */
async function relistSome(query: PgQuery, after: string): Promise<string | undefined> {
  const heads = await query<{ session_id: string; sequence: number }>(
    `SELECT session_id, sequence FROM @sessions WHERE session_id > $1 AND sequence > 0 ORDER BY session_id LIMIT $2`,
    [after, sessionsAtOnce],
  );
  let entries = 0;
  const some = heads.filter(({ sequence }, index) => (entries += sequence) <= entriesAtOnce || index === 0);
  const last = some.at(-1)?.session_id;
  if (last !== undefined)
    await relistSessions(
      query,
      some.map(({ session_id }) => session_id),
    );
  return last;
}

async function relistSessions(query: PgQuery, sessions: readonly string[]): Promise<void> {
  const names = toTextArray(sessions);
  await query('SELECT 1 FROM @sessions WHERE session_id = ANY ($1) ORDER BY session_id FOR UPDATE', [names]);
  await removeLists(query, names);
  let listed: ListedRow[] = [];
  const put = async (): Promise<void> => {
    await putListed(query, listed);
    listed = [];
  };
  const heads: JsonObject[] = [];
  const some = entriesInOrder(
    'WHERE e.session_id >= ? AND e.session_id <= ? AND e.session_id = ANY (?::text[])',
  );
  const range = [sessions[0] ?? '', sessions.at(-1) ?? '', names];
  for await (const each of readCallsInOrder(createPgReader(query), some, range)) {
    const { call_id, first, tally, call, position, isEnd } = each;
    const session = String(each.session);
    if (call !== undefined) listed.push({ session, name: call_id ?? '', call, position });
    if (listed.length >= callsPerPage) await put();
    if (isEnd) heads.push({ session_id: session, ...toHeadRow(tally, first) });
  }
  await put();
  await query(
    `UPDATE @sessions h SET ${headColumns.map((column) => `${column} = x.${column}`).join(', ')}
     FROM json_to_recordset($1::json) x(session_id text, ${headColumns.map((column) => `${column} bigint`).join(', ')})
     WHERE h.session_id = x.session_id`,
    [JSON.stringify(heads)],
  );
}

const headColumns = ['first_position', 'first_at', 'last_at', ...sessionCounts];

type ListedRow = {
  readonly session: string;
  readonly name: string;
  readonly call: ListedCall;
  readonly position: number;
};

const putListed = (query: PgQuery, rows: readonly ListedRow[]): Promise<unknown> =>
  query('SELECT @put_lists(NULL, NULL, $1, $2, $3, $4)', [
    toTextArray(rows.map(({ session }) => session)),
    toTextArray(rows.map(({ name }) => name)),
    toTextArray(rows.map(({ call, position }) => toListed(call, position))),
    toTextArray(rows.map(() => null)),
  ]);

/** Makes the rows of some calls of a session again. What the session counts must be the same. */
export async function relistCalls(query: PgQuery, session: string, calls: readonly string[]): Promise<void> {
  type Row = {
    readonly call_id: string;
    readonly position: number;
    readonly text: string;
    readonly bodies: string | null;
  };
  const rows = await query<Row>(
    `SELECT call_id, position, text, bodies FROM @entries WHERE session_id = $1 AND call_id = ANY ($2) ORDER BY sequence`,
    [session, toTextArray(calls)],
  );
  const listed = calls.flatMap((name) => {
    const own = rows.filter(({ call_id }) => call_id === name);
    const call = listCall(own.map(decode));
    return call === undefined ? [] : [{ session, name, call, position: own[0]?.position ?? 0 }];
  });
  await putListed(query, listed);
}

/** Removes what the lists show of sessions, except the counts next to their heads. */
export async function removeLists(query: PgQuery, names: Buffer): Promise<void> {
  await query(
    `DELETE FROM @read_words w USING @read_calls c WHERE c.session_id = ANY ($1::text[])
       AND w.part = c.part AND w.position = c.position`,
    [names],
  );
  for (const table of ['read_calls', 'read_confirmations'])
    await query(`DELETE FROM @${table} WHERE session_id = ANY ($1::text[])`, [names]);
}

/** Removes rows of sessions that do not exist, and words that belong to no call: another program wrote them. */
async function removeSurplus(query: PgQuery): Promise<void> {
  for (const table of ['read_calls', 'read_confirmations'])
    await query(
      `DELETE FROM @${table} r WHERE NOT EXISTS (SELECT 1 FROM @sessions s WHERE s.session_id = r.session_id AND s.sequence > 0)`,
    );
  await query(
    `DELETE FROM @read_words w WHERE NOT EXISTS (SELECT 1 FROM @read_calls c WHERE c.session_id = w.session_id
       AND c.call_id = w.call_id AND c.part = w.part AND c.position = w.position)`,
  );
  await query(
    'INSERT INTO @read_parts (part, position) VALUES (0, 0) ON CONFLICT (part) DO UPDATE SET position = 0',
  );
}

/** Makes the tallies and the spans of the parts again from the rows. Appends wait meanwhile, which takes seconds. */
async function recount(query: PgQuery): Promise<void> {
  await query('LOCK TABLE @sessions IN EXCLUSIVE MODE');
  await query('DELETE FROM @read_tallies');
  await query(`INSERT INTO @read_tallies (${tallyColumns}) ${toTallySql('', '')}`);
  await query(
    `UPDATE @read_parts p SET first_hour = n.low, last_hour = n.high
     FROM (SELECT o.part, min(w.requested_at) / ${hourMs} AS low, max(w.requested_at) / ${hourMs} AS high
       FROM @read_parts o LEFT JOIN @read_words w ON w.part = o.part GROUP BY o.part) n WHERE p.part = n.part`,
  );
}

const tallyColumns = 'hour, tool_name, bin, code, outcome, mode, slot, calls, unresolved, cost_micros';

/** What the settled calls add to the tallies. `sign`: takes them out. */
const toTallySql = (where: string, sign: '' | '-'): string =>
  `SELECT requested_at / ${hourMs}, tool_name, bin, coalesce(code, ''), outcome, mode, 0, ${sign}count(*),
     ${sign}sum(unresolved::integer), ${sign}sum(cost_micros)
   FROM @read_calls WHERE status = 'settled'${where} GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6`;

/** Takes the calls of a session out of the tallies. */
export const countOutSql: string = `INSERT INTO @read_tallies AS t (${tallyColumns}) ${toTallySql(' AND session_id = $1', '-')}
  ON CONFLICT (hour, md5(tool_name), bin, code, outcome, mode, slot) DO UPDATE SET calls = t.calls + excluded.calls,
    unresolved = t.unresolved + excluded.unresolved, cost_micros = t.cost_micros + excluded.cost_micros`;

/** Appends an entry of the ledger itself, in a transaction that holds the head of its session. */

export async function appendOwnEntry(
  query: PgQuery,
  entry: Entry & { readonly totals?: readonly CounterTotal[] },
  { ownerId, salt }: { readonly ownerId: string; readonly salt: () => string },
  position: number,
): Promise<void> {
  const { text, bodies, salt: own } = writeEntry(entry, ownerId, salt);
  const tally = newSessionTally(entry.sessionId);
  for (const { at } of entry.events) countEvent(tally, at);
  const { first_at, last_at } = toHeadRow(tally, position);
  await query(
    `WITH head AS (UPDATE @sessions SET sequence = sequence + 1, position = $2,
         first_position = coalesce(first_position, $2), first_at = least(first_at, $6), last_at = greatest(last_at, $7),
         hash = @chain_step(NULL, hash, sequence + 1, $3) WHERE session_id = $1 RETURNING sequence, hash)
     INSERT INTO @entries (position, session_id, sequence, text, bodies, salt, hash)
     SELECT $2, $1, sequence, $3, $4, $5, hash FROM head`,
    [
      toPgText(entry.sessionId),
      position,
      text,
      bodies ?? null,
      own ?? null,
      first_at as number,
      last_at as number,
    ],
  );
}
