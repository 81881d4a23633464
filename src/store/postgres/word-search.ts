/** The search over `read_words`, in the order of appends. The index finds the words; the other filters check row by row. */
import type { CallQuery, CallSummary, Page } from '../../ledger/call-query.ts';
import type { SearchTerm } from '../../ledger/call-search.ts';
import { matchesCall } from '../../ledger/match-call.ts';
import { settleTerms } from '../../ledger/call-search.ts';
import { clampPageLimit, parseCursor, toCursor } from '../../ledger/page-cursor.ts';
import type { CallRow } from './call-row.ts';
import { rowToCallSummary } from './call-row.ts';
import type { PgPool } from './pg-pool.ts';

const widestBatch = 4_000;

/** A `tsquery`. Words and marks have neither quotation marks nor backslashes. */
const toWordQuery = (terms: readonly SearchTerm[]): string =>
  terms
    .map(({ anyOf, as }) => `(${anyOf.map((word) => `'${word}'${as === 'whole' ? '' : ':*'}`).join(' | ')})`)
    .join(' & ');

export async function searchWords(
  pool: PgPool,
  terms: readonly SearchTerm[],
  query: CallQuery,
): Promise<Page<CallSummary>> {
  const words = toWordQuery(
    await settleTerms(terms, async (word) => {
      const found = await pool.read('SELECT 1 FROM @read_words WHERE words @@ $1::tsquery LIMIT 1', [
        `'${word}'`,
      ]);
      return found.length > 0;
    }),
  );
  const limit = clampPageLimit(query.limit);
  const found: CallRow[] = [];
  let before = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : parseCursor(query.cursor)[1];
  let batch = Math.min(limit * 2 + 1, widestBatch);
  for (let scanned = 0; ; batch = Math.min(batch * 2, widestBatch)) {
    const rows = await pool.read<CallRow>(
      `SELECT c.* FROM (SELECT position, session_id, call_id FROM @read_words
         WHERE ${words === '' ? '$1::text = $1' : 'words @@ $1::tsquery'} AND position < $2::bigint
         ORDER BY position DESC LIMIT ${batch}) w JOIN @read_calls c USING (session_id, call_id)
       ORDER BY c.position DESC`,
      [words, before],
    );
    for (const row of rows) {
      if (!matchesCall(rowToCallSummary(row), query)) continue;
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
    if (query.scan !== undefined && scanned >= query.scan)
      return { rows: found.map(rowToCallSummary), next: toCursor([end.requested_at, end.position]) };
  }
}
