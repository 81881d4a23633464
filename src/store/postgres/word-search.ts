/** The search over `read_words`, in the order of appends. The index finds words and marks; the rest is checked row by row. */
import type { CallQuery, CallSummary, Page } from '../../ledger/call-query.ts';
import type { SearchTerm } from '../../ledger/call-search.ts';
import { callMatcher } from '../../ledger/match-call.ts';
import { settleTerms } from '../../ledger/call-search.ts';
import { clampPageLimit, parseCursor, toCursor } from '../../ledger/page-cursor.ts';
import type { CallRow } from './call-row.ts';
import { rowToCallSummary } from './call-row.ts';
import { toFilterTerms } from '../../ledger/filter-marks.ts';
import type { PgPool } from './pg-pool.ts';
import { partMark } from './word-functions.ts';

const widestBatch = 4_000;

/** A `tsquery` for any part. Words and marks have neither quotation marks nor backslashes. Null: everything matches. */
const toWordQuery = (terms: readonly SearchTerm[]): string | null =>
  terms.length === 0
    ? null
    : terms
        .map(
          ({ anyOf, as }) =>
            `(${anyOf.map((word) => `'${partMark}|${word}'${as === 'whole' ? '' : ':*'}`).join(' | ')})`,
        )
        .join(' & ');

export async function searchWords(
  pool: PgPool,
  terms: readonly SearchTerm[],
  query: CallQuery,
): Promise<Page<CallSummary>> {
  const settled = await settleTerms(terms, async (word) => {
    const [row] = await pool.read<{ found: boolean }>('SELECT @has_word($1) AS found', [
      toWordQuery([{ anyOf: [word], as: 'whole' }]),
    ]);
    return row?.found === true;
  });
  const words = toWordQuery([...settled, ...toFilterTerms(query)]);
  const { since = Number.MIN_SAFE_INTEGER, until = Number.MAX_SAFE_INTEGER } = query;
  const matches = callMatcher(query);
  const limit = clampPageLimit(query.limit);
  const found: CallRow[] = [];
  let before = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : parseCursor(query.cursor)[1];
  let batch = Math.min(limit * 2 + 1, widestBatch);
  const most = query.scan ?? Number.MAX_SAFE_INTEGER;
  for (let scanned = 0; ; batch = Math.min(batch * 3, widestBatch, most - scanned)) {
    const rows = await pool.read<CallRow>(findSql, [words, before, since, until, batch]);
    for (const row of rows) {
      if (!matches(rowToCallSummary(row))) continue;
      if (found.push(row) > limit) {
        const last = found[limit - 1] as CallRow; // a full page has a last row
        return {
          rows: found.slice(0, limit).map(rowToCallSummary),
          next: toCursor([last.requested_at, last.position]),
        };
      }
    }
    const end = rows.at(-1);
    if (end === undefined || rows.length < batch)
      return { rows: found.map(rowToCallSummary), next: undefined };
    before = end.position;
    scanned += rows.length;
    if (scanned >= most)
      return { rows: found.map(rowToCallSummary), next: toCursor([end.requested_at, end.position]) };
  }
}

const findSql = `SELECT c.* FROM @find_words($1, $2, $3, $4, $5) w JOIN @read_calls c USING (session_id, call_id)
  ORDER BY c.position DESC`;
