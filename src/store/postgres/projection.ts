/**
 * Fills the read tables from the entries, a batch per transaction.
 *
 * 1. The progress is locked first, so one process at a time fills the tables, and a batch is written once. Not its row:
 *    that would be a write, and the feed of entries waits for the end of all transactions that have written.
 * 2. The sequence of a session says how far it was read: within a session, entries become visible in their order. So a
 *    step also reads entries after the horizon, and a list shows a call as soon as its caller hears of it.
 * 3. The progress follows the horizon. It only saves looking at old entries again.
 */
import type { JsonObject } from '../../base/json.ts';
import type { CallSummary } from '../../ledger/call-query.ts';
import type { SessionTally } from '../../ledger/session-tally.ts';
import { countCall, countEvent, newSessionTally } from '../../ledger/session-tally.ts';
import type { DecodedEntry, ProjectedCall } from './call-projection.ts';
import { callColumns, rowKeyOf, projectCall } from './call-projection.ts';
import type { EntryRow } from './entry-row.ts';
import { decodeEntryRow, entryColumns } from './entry-row.ts';
import type { LightRow } from './plain-calls.ts';
import { PlainCalls, lightColumns } from './plain-calls.ts';
import { toTextArray } from './text-array.ts';
import type { PgPool, PgQuery } from './pg-pool.ts';
import { fromPgText } from './pg-text.ts';
import { horizonSql } from './postgres-entries.ts';
import { toFilterMarks } from '../../ledger/filter-marks.ts';
import { rowsPerPart } from './word-functions.ts';

type CountedRow = {
  readonly session_id: string;
  readonly call_id: string;
  readonly hour: number;
  readonly tool_name: string;
  readonly bin: number;
  readonly code: string | null;
  readonly outcome: CallSummary['outcome'] | null;
  readonly mode: string;
  readonly status: CallSummary['status'];
  readonly unresolved: boolean;
  readonly cost_micros: number;
};

/** A call that spans two steps is written twice, so a step is long. */
const entriesPerStep = 6_000;
/** Rows that are read before other work gets a turn. */
const rowsPerTurn = 250;

/** Is there an entry that the read tables do not know? */
export const isBehindSql = `SELECT EXISTS (SELECT 1 FROM @entries e LEFT JOIN @read_sessions r USING (session_id)
  WHERE e.position > (SELECT position FROM @read_progress) AND e.sequence > coalesce(r.sequence, 0)) AS behind`;

/**
 * The planner knows little about entries that are seconds old: it would sort their texts, on disk and with all cores. In
 * the order of the index, reading them takes half the time.
 */
const inOrder: readonly string[] = [
  'max_parallel_workers_per_gather = 0',
  'enable_sort = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'enable_seqscan = off',
  'enable_bitmapscan = off',
];
const beginOrderSql = inOrder.map((setting) => `SET LOCAL ${setting};`).join(' ');
const endOrderSql = inOrder.map((setting) => `SET LOCAL ${setting.replace(/=.*/, '= DEFAULT')};`).join(' ');

/** Takes one step. Returns true if there may be more to do. */
export async function projectStep(pool: PgPool): Promise<boolean> {
  return pool.transaction(async (query) => {
    await query('LOCK TABLE @read_progress IN EXCLUSIVE MODE');
    const [progress] = await query<{ position: number; horizon: number }>(
      `SELECT position, ${horizonSql} AS horizon FROM @read_progress`,
    );
    const { position: from, horizon } = progress ?? { position: 0, horizon: 0 };
    await query(beginOrderSql);
    const rows = await query<LightRow>(
      `SELECT ${lightColumns} FROM @entries e LEFT JOIN @read_sessions r USING (session_id)
       WHERE e.position > $1 AND e.sequence > coalesce(r.sequence, 0) ORDER BY e.position LIMIT $2`,
      [from, entriesPerStep],
    );
    await query(endOrderSql);
    if (rows.length > 0) await projectRows(query, rows);
    const isFull = rows.length === entriesPerStep;
    const until = Math.min(isFull ? (rows.at(-1)?.position ?? from) : Number.MAX_SAFE_INTEGER, horizon - 1);
    if (until > from) await query('UPDATE @read_progress SET position = $1', [until]);
    return isFull;
  });
}

async function projectRows(query: PgQuery, rows: readonly LightRow[]): Promise<void> {
  const sessions = new Map<string, SessionTally & { sequence: number; hash: string }>();
  const plain = new PlainCalls();
  for (const [index, row] of rows.entries()) {
    if ((index + 1) % rowsPerTurn === 0) await nextTurn();
    let session = sessions.get(row.session_id);
    if (session === undefined) {
      session = { ...newSessionTally(fromPgText(row.session_id)), sequence: 0, hash: '' };
      sessions.set(row.session_id, session);
    }
    session.sequence = row.sequence;
    session.hash = row.hash;
    plain.take(row, session);
  }
  const other = await readEntries(query, plain.others);
  const fresh = new Map<string, DecodedEntry[]>();
  for (const decoded of other) {
    const { row, entry } = decoded;
    const session = sessions.get(row.session_id);
    if (session !== undefined) for (const { at } of entry.events) countEvent(session, at);
    if (row.call_id === null) continue;
    const known = fresh.get(rowKeyOf(row));
    if (known === undefined) fresh.set(rowKeyOf(row), [decoded]);
    else known.push(decoded);
  }
  const calls = await readWhole(query, [...fresh.values()]);
  const projected = [...plain.calls(), ...projectAll(calls)];
  await putProjected(query, projected, (sessionId) => sessions.get(sessionId));
  await query(putSessionsSql, [
    JSON.stringify(
      [...sessions].map(([session_id, tally]) => ({
        session_id,
        sequence: tally.sequence,
        hash: tally.hash,
        ...toSessionRow(tally),
      })),
    ),
  ]);
}

/** Entries with all their columns, decoded. */
async function readEntries(query: PgQuery, rows: readonly LightRow[]): Promise<readonly DecodedEntry[]> {
  if (rows.length === 0) return [];
  const read = await query<EntryRow>(
    `SELECT ${entryColumns} FROM @entries e WHERE e.position = ANY ($1::text[]::bigint[]) ORDER BY e.position`,
    [toTextArray(rows.map(({ position }) => String(position)))],
  );
  return read.map((row) => ({ row, entry: decodeEntryRow(row) }));
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Writes the rows of calls, and counts them. `tallyOf` gives the counts of the session to change. */
export async function putCalls(
  query: PgQuery,
  calls: readonly (readonly DecodedEntry[])[],
  tallyOf: (session: string) => SessionTally | undefined,
): Promise<void> {
  await putProjected(query, projectAll(calls), tallyOf);
}

const projectAll = (calls: readonly (readonly DecodedEntry[])[]): readonly ProjectedCall[] =>
  calls.flatMap((entries) => projectCall(entries) ?? []);

async function putProjected(
  query: PgQuery,
  projected: readonly ProjectedCall[],
  tallyOf: (session: string) => SessionTally | undefined,
): Promise<void> {
  if (projected.length === 0) return;
  const before = await readCounted(
    query,
    projected.filter(({ isNew }) => !isNew),
  );
  const tallies = new Map<string, JsonObject & { calls: number; unresolved: number; cost_micros: number }>();
  const count = (row: CountedRow, by: 1 | -1): void => {
    const { hour, tool_name, bin, code, outcome, mode, status } = row;
    const key = { hour, tool_name, bin, code: code ?? '', outcome: outcome ?? '', mode, status };
    const name = JSON.stringify(key);
    const tally = tallies.get(name) ?? { ...key, calls: 0, unresolved: 0, cost_micros: 0 };
    tallies.set(name, tally);
    tally.calls += by;
    tally.unresolved += by * Number(row.unresolved);
    tally.cost_micros += by * row.cost_micros;
  };
  for (const call of projected) {
    const row = call.row as unknown as CountedRow; // the columns that it has
    const old = call.isNew ? undefined : before.get(rowKeyOf(row));
    const session = tallyOf(row.session_id);
    if (old !== undefined) {
      count(old, -1);
      if (session !== undefined) countCall(session, { ...old, outcome: old.outcome ?? undefined }, -1);
    }
    count(row, 1);
    if (session !== undefined) countCall(session, call.summary);
  }
  await query(putCallsSql, toColumns(projected.map(({ row }) => row)));
  await query(putWordsSql, [
    toTextArray(projected.map(({ row }) => String(row['position'] as number))),
    toTextArray(projected.map(({ row }) => row['session_id'] as string)),
    toTextArray(projected.map(({ row }) => row['call_id'] as string)),
    toTextArray(projected.map(({ summary }) => String(summary.requestedAt))),
    toTextArray(projected.map(({ words, summary }) => [...words, ...toFilterMarks(summary)].join(' '))),
  ]);
  const confirmations = projected.flatMap((call) => call.confirmations);
  if (confirmations.length > 0) await query(putConfirmationsSql, [JSON.stringify(confirmations)]);
  await putTallies(query, [...tallies.values()]);
}

/** Adds counts to those of the tables. */
export async function putTallies(query: PgQuery, tallies: readonly JsonObject[]): Promise<void> {
  const changed = tallies.filter(
    ({ calls, unresolved, cost_micros }) => calls !== 0 || unresolved !== 0 || cost_micros !== 0,
  );
  if (changed.length === 0) return;
  await query(putTalliesSql, [JSON.stringify(changed)]);
}

/** The entries of calls: those of a new call are all there, those of another are read. */
async function readWhole(
  query: PgQuery,
  calls: readonly (readonly DecodedEntry[])[],
): Promise<readonly (readonly DecodedEntry[])[]> {
  const older = calls.filter(([first]) => first?.row.version !== 1);
  if (older.length === 0) return calls;
  const read = await readCalls(
    query,
    older.map(([first]) => first?.row as EntryRow), // a call has entries
  );
  return calls.map((entries) => {
    const [first] = entries;
    return first === undefined || first.row.version === 1
      ? entries
      : (read.get(rowKeyOf(first.row)) ?? entries);
  });
}

/** All entries of some calls, by `rowKeyOf`. */
export async function readCalls(
  query: PgQuery,
  calls: readonly Pick<EntryRow, 'session_id' | 'call_id'>[],
): Promise<ReadonlyMap<string, readonly DecodedEntry[]>> {
  const rows = await query<EntryRow>(
    `SELECT ${entryColumns} FROM unnest($1::text[], $2::text[]) x(s, c)
     JOIN @entries e ON e.session_id = x.s AND e.call_id = x.c ORDER BY e.session_id, e.sequence`,
    [
      toTextArray(calls.map(({ session_id }) => session_id)),
      toTextArray(calls.map(({ call_id }) => call_id)),
    ],
  );
  const found = new Map<string, DecodedEntry[]>();
  for (const row of rows) {
    const decoded = { row, entry: decodeEntryRow(row) };
    const known = found.get(rowKeyOf(row));
    if (known === undefined) found.set(rowKeyOf(row), [decoded]);
    else known.push(decoded);
  }
  return found;
}

async function readCounted(
  query: PgQuery,
  projected: readonly ProjectedCall[],
): Promise<ReadonlyMap<string, CountedRow>> {
  if (projected.length === 0) return new Map();
  const rows = await query<CountedRow>(
    `SELECT ${countedColumns} FROM unnest($1::text[], $2::text[]) x(s, c)
     JOIN @read_calls r ON r.session_id = x.s AND r.call_id = x.c`,
    [
      toTextArray(projected.map(({ row }) => row['session_id'] as string)),
      toTextArray(projected.map(({ row }) => row['call_id'] as string)),
    ],
  );
  return new Map(rows.map((row) => [rowKeyOf(row), row]));
}

/** The counts of every call of a session, to be taken out of the tables. */
export async function countOut(query: PgQuery, session: string): Promise<readonly JsonObject[]> {
  return query<JsonObject>(
    `SELECT hour, tool_name, bin, coalesce(code, '') AS code, coalesce(outcome, '') AS outcome, mode, status,
       -count(*) AS calls, -sum(unresolved::integer)::bigint AS unresolved, -sum(cost_micros)::bigint AS cost_micros
     FROM @read_calls WHERE session_id = $1 GROUP BY 1, 2, 3, 4, 5, 6, 7`,
    [session],
  );
}

const toSessionRow = (tally: SessionTally): JsonObject => ({
  calls: tally.calls,
  open_calls: tally.openCalls,
  failures: tally.failures,
  denials: tally.denials,
  unresolved: tally.unresolved,
  first_at: tally.firstAt,
  last_at: tally.lastAt,
});

const countedColumns =
  'r.session_id, r.call_id, r.hour, r.tool_name, r.bin, r.code, r.outcome, r.mode, r.status, r.unresolved, r.cost_micros';

const laterColumns = [
  'status',
  'outcome',
  'reason',
  'code',
  'message',
  'input_digest',
  'attempts',
  'unresolved',
  'settled_at',
  'elapsed_ms',
  'cost_micros',
  'user_id',
  'rule_id',
  'owner_id',
  'bin',
  'args',
];

const putCallsSql = `INSERT INTO @read_calls (${callColumns.map(([column]) => column).join(', ')})
  SELECT ${callColumns.map(([column, type]) => (type === 'text' ? column : `${column}::${type}`)).join(', ')}
  FROM unnest(${callColumns.map((_, index) => `$${index + 1}::text[]`).join(', ')})
    x(${callColumns.map(([column]) => column).join(', ')})
  ON CONFLICT (session_id, call_id) DO UPDATE SET ${laterColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`;

/** An array per column: as JSON, the server would parse every row. */
const toColumns = (rows: readonly JsonObject[]): readonly Buffer[] =>
  callColumns.map(([column]) =>
    toTextArray(
      rows.map((row) => {
        const value = row[column];
        return value === undefined || value === null ? null : String(value as string | number | boolean);
      }),
    ),
  );

/**
 * Each word begins with the number of its part: see `word-functions.ts`. The next part begins after every call that is
 * known. So calls that become visible late belong to the part before, and the parts stay in the order of positions.
 */
const putWordsSql = `WITH item AS (
    SELECT x.position::bigint AS position, x.session_id, x.call_id, x.at::bigint AS at, x.words,
      (SELECT p.part FROM @read_parts p WHERE p.position <= x.position::bigint ORDER BY p.part DESC LIMIT 1) || '|' AS start
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) x(position, session_id, call_id, at, words)),
  put AS (
    INSERT INTO @read_words (position, session_id, call_id, requested_at, words)
    SELECT i.position, i.session_id, i.call_id, i.at,
      array_to_tsvector(string_to_array(i.start || replace(i.words, ' ', ' ' || i.start), ' ')) FROM item i
    ON CONFLICT (position) DO UPDATE SET words = excluded.words),
  counted AS (
    UPDATE @read_parts p SET written = p.written + n.rows, first_at = least(p.first_at, n.first_at),
      last_at = greatest(p.last_at, n.last_at)
    FROM (SELECT i.start, count(*) AS rows, min(i.at) AS first_at, max(i.at) AS last_at FROM item i GROUP BY i.start) n
    WHERE p.part || '|' = n.start RETURNING p.part, p.written)
  INSERT INTO @read_parts (part, position, written)
  SELECT c.part + 1, greatest((SELECT max(position) FROM @read_words), (SELECT max(position) FROM item)) + 1, 0
  FROM counted c WHERE c.written >= ${rowsPerPart} AND c.part = (SELECT max(part) FROM @read_parts)`;

const putConfirmationsSql = `INSERT INTO @read_confirmations
  SELECT * FROM jsonb_populate_recordset(NULL::@read_confirmations, $1::jsonb)
  ON CONFLICT (confirmation_id) DO UPDATE SET status = excluded.status, expires_at = excluded.expires_at`;

const putTalliesSql = `INSERT INTO @read_tallies AS t SELECT * FROM jsonb_populate_recordset(NULL::@read_tallies, $1::jsonb)
  ON CONFLICT (hour, tool_name, bin, code, outcome, mode, status) DO UPDATE SET calls = t.calls + excluded.calls,
    unresolved = t.unresolved + excluded.unresolved, cost_micros = t.cost_micros + excluded.cost_micros`;

const sums = ['calls', 'open_calls', 'failures', 'denials', 'unresolved'];
const putSessionsSql = `INSERT INTO @read_sessions AS s (session_id, sequence, hash, ${sums.join(', ')}, first_at, last_at)
  SELECT session_id, sequence, hash, ${sums.join(', ')}, first_at, last_at
  FROM jsonb_populate_recordset(NULL::@read_sessions, $1::jsonb)
  ON CONFLICT (session_id) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash,
    ${sums.map((sum) => `${sum} = s.${sum} + excluded.${sum}`).join(', ')},
    first_at = least(s.first_at, excluded.first_at), last_at = greatest(s.last_at, excluded.last_at)`;
