/**
 * The functions that write and search what lists show: `read_calls`, `read_words`, `read_confirmations`, `read_tallies`.
 *
 * 1. `put_lists` writes the rows of a batch in the transaction of its entries. `p_listed` has a call as JSON, or null.
 *    `p_counts` has the times of an entry and what it changes about the counts of its session, see `sessionCounts`.
 *    `p_first` is the position of the first entry. A rebuild passes null: its rows name their positions.
 * 2. Tallies count settled calls only, so a call changes one row of them, once. Open calls are few: a query counts them.
 *    The key contains a slot, which comes from the lane, so concurrent writers rarely change the same row.
 * 3. An index over all words would have to give every call with a word before the newest of them is known. So calls are
 *    divided into parts, and every word is stored with the number of its part before it. A search goes from the newest
 *    part to the oldest, and ends when it has enough. A beginning of a word also finds the words of one part only.
 * 4. A part begins after every call that is known. A transaction that is under way may still add calls to the part
 *    before. So calls are found in the order of their part, then of their position.
 * 5. A part has the span of its calls in whole hours: an append changes that row about once in an hour.
 * 6. The newest calls are looked at one by one. For a frequent word this takes less than asking the index, which gives all
 *    calls of a part.
 * 7. The planner knows neither how frequent a combination of words is nor that a search ends early. It would read the
 *    whole table, or compile the statement first. The settings keep it from both.
 *
 * In `p_query`, `partMark` stands for the number of the part. Without a query, all calls match.
 */
import type { SessionTally } from 'quittance/internal/ledger/call-tally';
import { hourMs, latencyBin } from 'quittance/internal/ledger/call-tally';
import type { JsonObject } from 'quittance/internal/base/json';
import type { ListedCall } from 'quittance/internal/ledger/listed-call';
import { toIndexWords } from 'quittance/internal/ledger/listed-call';
import { toPgText } from './pg-values.ts';

export const partMark = '\u0001';

/** So many rows are written to a part before the next one begins. */
export const rowsPerPart = 65_536;

/** The newest calls that are looked at one by one. */
const lookedAt = 2_000;

/** More slots make less contention, and more rows to sum up. */
const slots = 16;
export const slotSql = (lane: string): string => `hashtext(${lane}) & ${slots - 1}`;

/** What an index has of a name: the beginning. */
export const startOf = (name: string): string => `left(${name}, 500)`;

const settings = `SET search_path FROM CURRENT
SET enable_seqscan = off SET jit = off SET max_parallel_workers_per_gather = 0 SET plan_cache_mode = force_generic_plan`;

/** The columns of `read_calls` that a listed call has, and those that a later entry of the call may change. */
const callColumns = `turn_id text, tool_name text, mode text, mode_origin text, status text, outcome text, reason text, code text,
  message text, input_digest text, attempts integer, unresolved boolean, requested_at bigint, settled_at bigint,
  elapsed_ms bigint, cost_micros bigint, user_id text, rule_id text, owner_id text, bin integer, args text`;
const namesIn = (columns: string): readonly string[] =>
  columns.split(',').map((column) => column.trim().split(' ')[0] ?? '');
const callNames = namesIn(callColumns);
const fixed: ReadonlySet<string> = new Set(['turn_id', 'tool_name', 'mode', 'mode_origin', 'requested_at']);
const laterNames = callNames.filter((name) => !fixed.has(name));
/** The columns of `read_calls` that queries read. */
export const listedNames: readonly string[] = ['session_id', 'call_id', 'position', ...callNames];

/** The counts of a session, next to its head. `p_counts` has the same order, after the first and the last time. */
export const sessionCounts = ['calls', 'open_calls', 'failures', 'denials', 'unresolved'] as const;

export const listFunctions: string = `
CREATE OR REPLACE FUNCTION put_lists(p_first bigint, p_slot integer, p_sessions text[], p_calls text[], p_listed text[],
  p_counts text[]) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  WITH item AS MATERIALIZED (
      SELECT t.s, t.c, t.o, t.k::bigint[] AS k, coalesce(p_first + t.o - 1, r.position) AS at, r.*
      FROM unnest(p_sessions, p_calls, p_listed, p_counts) WITH ORDINALITY t(s, c, j, k, o),
        json_to_record(t.j::json) r(position bigint, words text, asked json, ${callColumns}) WHERE t.j IS NOT NULL),
    last AS MATERIALIZED (
      SELECT DISTINCT ON (i.s, i.c) i.*, min(i.at) OVER (PARTITION BY i.s, i.c) AS begun FROM item i ORDER BY i.s, i.c, i.o DESC),
    put AS (
      INSERT INTO read_calls AS c (session_id, call_id, position, part, ${callNames.join(', ')})
      SELECT l.s, l.c, l.begun, coalesce((SELECT p.part FROM read_parts p WHERE p.position <= l.begun ORDER BY p.part DESC LIMIT 1), 0),
        ${callNames.map((name) => `l.${name}`).join(', ')} FROM last l
      ON CONFLICT (session_id, call_id) DO UPDATE SET ${laterNames.map((name) => `${name} = excluded.${name}`).join(', ')}
      RETURNING c.session_id, c.call_id, c.position, c.part, c.requested_at),
    worded AS (
      INSERT INTO read_words AS w (part, position, session_id, call_id, requested_at, words)
      SELECT u.part, u.position, u.session_id, u.call_id, u.requested_at,
        array_to_tsvector(string_to_array(u.part || '|' || replace(l.words, ' ', ' ' || u.part || '|'), ' '))
      FROM put u JOIN last l ON l.s = u.session_id AND l.c = u.call_id
      ON CONFLICT (part, position) DO UPDATE SET words = excluded.words
      RETURNING w.part, w.number, w.requested_at / ${hourMs} AS hour),
    widened AS (
      UPDATE read_parts p SET first_hour = least(p.first_hour, n.low), last_hour = greatest(p.last_hour, n.high)
      FROM (SELECT w.part, min(w.hour) AS low, max(w.hour) AS high FROM worded w GROUP BY w.part) n
      WHERE p.part = n.part AND (p.first_hour IS NULL OR n.low < p.first_hour OR n.high > p.last_hour)),
    begun AS (
      INSERT INTO read_parts (part, position) SELECT coalesce((SELECT max(p.part) FROM read_parts p) + 1, 0), p_first + 1024
      FROM worded w WHERE p_first IS NOT NULL HAVING bool_or(w.number % ${rowsPerPart} = 0) ON CONFLICT (part) DO NOTHING),
    asked AS (
      INSERT INTO read_confirmations AS c (session_id, call_id, confirmation_id, position, tool_name, status, asked_at, expires_at)
      SELECT u.session_id, u.call_id, a.id, u.position, l.tool_name, a.status, a.asked_at, a.expires_at
      FROM put u JOIN last l ON l.s = u.session_id AND l.c = u.call_id,
        json_to_recordset(l.asked) a(id text, status text, asked_at bigint, expires_at bigint)
      ON CONFLICT (session_id, call_id, confirmation_id) DO UPDATE SET status = excluded.status, expires_at = excluded.expires_at)
  INSERT INTO read_tallies AS t (hour, tool_name, bin, code, outcome, mode, slot, calls, unresolved, cost_micros)
  SELECT i.requested_at / ${hourMs}, i.tool_name, i.bin, coalesce(i.code, ''), i.outcome, i.mode, p_slot,
    sum(i.k[3] - i.k[4]), sum(i.k[7]), sum((i.k[3] - i.k[4]) * i.cost_micros)
  FROM item i WHERE p_slot IS NOT NULL AND i.status = 'settled' AND (i.k[3] <> i.k[4] OR i.k[7] <> 0)
  GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (hour, md5(tool_name), bin, code, outcome, mode, slot) DO UPDATE SET calls = t.calls + excluded.calls,
    unresolved = t.unresolved + excluded.unresolved, cost_micros = t.cost_micros + excluded.cost_micros;
END $$;

CREATE OR REPLACE FUNCTION has_word(p_query text) RETURNS boolean LANGUAGE plpgsql STABLE ${settings}
SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE v_part integer; v_query tsquery;
BEGIN
  FOR v_part IN SELECT p.part FROM read_parts p ORDER BY p.part DESC LOOP
    v_query := replace(p_query, chr(1), v_part::text)::tsquery;
    IF EXISTS (SELECT 1 FROM read_words w WHERE w.words @@ v_query) THEN RETURN true; END IF;
  END LOOP;
  RETURN false;
END $$;

CREATE OR REPLACE FUNCTION find_words(p_query text, p_after bigint, p_since bigint, p_until bigint, p_limit integer)
RETURNS TABLE (session_id text, call_id text) LANGUAGE plpgsql STABLE ROWS 100 ${settings} AS $$
DECLARE v_part integer; v_after integer; v_query tsquery; v_before bigint; v_from bigint; v_left integer := p_limit;
  v_rows integer; v_look integer := ${lookedAt};
BEGIN
  -- The part of the call after which the page begins. If that call was removed: the part of its position.
  SELECT coalesce(max(p.part) FILTER (WHERE EXISTS (SELECT 1 FROM read_words w WHERE w.part = p.part AND w.position = p_after)),
    max(p.part) FILTER (WHERE p.position <= p_after)) INTO v_after FROM read_parts p;
  FOR v_part IN SELECT p.part FROM read_parts p
      WHERE p.part <= v_after AND p.last_hour >= p_since / ${hourMs} AND p.first_hour <= p_until / ${hourMs} ORDER BY p.part DESC LOOP
    v_query := replace(p_query, chr(1), v_part::text)::tsquery;
    v_before := CASE WHEN v_part = v_after THEN p_after ELSE 9223372036854775807 END;
    v_from := NULL;
    IF v_query IS NULL THEN
      v_from := 0;
    ELSIF v_look > 0 THEN
      SELECT min(n.position), v_look - count(*) INTO v_from, v_look FROM (SELECT w.position FROM read_words w
        WHERE w.part = v_part AND w.position < v_before ORDER BY w.position DESC LIMIT v_look) n;
    END IF;
    IF v_from IS NOT NULL THEN
      -- Without OFFSET, the planner would ask the index for the words.
      RETURN QUERY SELECT n.session_id, n.call_id FROM (SELECT w.* FROM read_words w
          WHERE w.part = v_part AND w.position < v_before AND w.position >= v_from AND w.requested_at >= p_since
            AND w.requested_at < p_until ORDER BY w.position DESC OFFSET 0) n
        WHERE v_query IS NULL OR n.words @@ v_query LIMIT v_left;
      GET DIAGNOSTICS v_rows = ROW_COUNT;
      v_left := v_left - v_rows;
      v_before := v_from;
      EXIT WHEN v_left = 0;
    END IF;
    IF v_query IS NOT NULL AND v_look = 0 THEN
      -- The sums keep the planner from reading by position.
      RETURN QUERY SELECT w.session_id, w.call_id FROM read_words w
        WHERE w.words @@ v_query AND w.part + 0 = v_part AND w.position + 0 < v_before AND w.requested_at >= p_since
          AND w.requested_at < p_until ORDER BY w.position + 0 DESC LIMIT v_left;
      GET DIAGNOSTICS v_rows = ROW_COUNT;
      v_left := v_left - v_rows;
      EXIT WHEN v_left = 0;
    END IF;
  END LOOP;
END $$;
`;

/** What the lists show of a call, as the append function takes it: see `put_lists` in `list-functions.ts`. */

/** As JSON. A rebuild also gives the position. */
export const toListed = (call: ListedCall, position?: number): string =>
  JSON.stringify({
    ...toCallRow(call),
    words: toWordText(call),
    ...(call.confirmations.length > 0 && { asked: toAsked(call) }),
    position,
  });

/** The columns of `read_calls` that change with its entries. One without a value is absent. */
export function toCallRow({ summary, ownerId }: ListedCall): JsonObject {
  const row = {
    turn_id: toPgText(summary.turnId),
    tool_name: toPgText(summary.toolName),
    mode: summary.mode,
    mode_origin: summary.modeOrigin,
    status: summary.status,
    outcome: summary.outcome,
    reason: summary.reason,
    code: orUndefined(summary.code),
    message: summary.message?.toWellFormed().replaceAll('\0', '\uFFFD'),
    input_digest: orUndefined(summary.inputDigest),
    attempts: summary.attempts,
    unresolved: summary.unresolved,
    requested_at: toWhole(summary.requestedAt),
    settled_at: toWhole(summary.settledAt),
    elapsed_ms: toWhole(summary.elapsedMs),
    cost_micros: toWhole(summary.costMicros),
    user_id: orUndefined(summary.userId),
    rule_id: orUndefined(summary.ruleId),
    owner_id: toPgText(ownerId),
    bin: latencyBin(summary),
    args: summary.args && JSON.stringify(summary.args).toWellFormed(),
  };
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as JsonObject;
}

/** The words of a call in the search index. */
export const toWordText = (call: ListedCall): string => toIndexWords(call).join(' ');

/** The questions of a call. */
export const toAsked = ({ confirmations }: ListedCall): readonly JsonObject[] =>
  confirmations.map(({ confirmationId, status, askedAt, expiresAt }) => ({
    id: toPgText(confirmationId),
    status,
    asked_at: toWhole(askedAt),
    ...(expiresAt !== undefined && { expires_at: toWhole(expiresAt) }),
  }));

/** The columns of a head that the lists show. A session without an event has no times. */
export function toHeadRow(tally: SessionTally, firstPosition: number): JsonObject {
  const hasTimes = tally.firstAt <= tally.lastAt;
  return {
    first_position: firstPosition,
    first_at: hasTimes ? toWhole(tally.firstAt) : null,
    last_at: hasTimes ? toWhole(tally.lastAt) : null,
    calls: tally.calls,
    open_calls: tally.openCalls,
    failures: tally.failures,
    denials: tally.denials,
    unresolved: tally.unresolved,
  };
}

/** The times of an entry and what it changes about the counts, in the order of `sessionCounts`: an array of PostgreSQL. */
export function toCounts(tally: SessionTally): string {
  const { first_position: _, ...row } = toHeadRow(tally, 0);
  const values = Object.values(row).map((value) => (value === null ? 'NULL' : JSON.stringify(value)));
  return `{${values.join(',')}}`;
}

const orUndefined = (name: string | undefined): string | undefined =>
  name === undefined ? undefined : toPgText(name);

/** The tables count in whole numbers that JavaScript can hold. */
function toWhole(value: number): number;
function toWhole(value: number | undefined): number | undefined;
function toWhole(value: number | undefined): number | undefined {
  if (value === undefined || Number.isSafeInteger(value)) return value;
  return Math.max(-largest, Math.min(largest, Math.round(value) || 0));
}
const largest = Number.MAX_SAFE_INTEGER;
