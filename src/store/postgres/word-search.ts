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
    const rows = await readBatch(pool, words, before, batch);
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

/** The newest calls that are looked at one by one, before the index is asked. */
const lookedAt = 2_000;

/**
 * The newest calls with these words. The planner cannot tell a frequent combination of words from a rare one. It would read
 * every call for a rare one, or sort every match of a frequent one. So a frequent one is found among the newest calls. The
 * index is asked only if these are not enough. The sum keeps the planner from reading by position then.
 */
async function readBatch(
  pool: PgPool,
  words: string,
  before: number,
  batch: number,
): Promise<readonly CallRow[]> {
  const read = (inner: string, values: readonly (string | number)[]): Promise<readonly CallRow[]> =>
    pool.read<CallRow>(
      `SELECT c.* FROM (${inner}) w JOIN @read_calls c USING (session_id, call_id) ORDER BY c.position DESC`,
      values,
    );
  const newest = `SELECT * FROM @read_words WHERE position < $1::bigint ORDER BY position DESC`;
  if (words === '') return read(`${newest} LIMIT ${batch}`, [before]);
  const near = await read(
    `SELECT * FROM (${newest} LIMIT ${Math.max(lookedAt, batch)}) n WHERE words @@ $2::tsquery
     ORDER BY position DESC LIMIT ${batch}`,
    [before, words],
  );
  if (near.length === batch) return near;
  return read(
    `SELECT * FROM @read_words WHERE words @@ $2::tsquery AND position < $1::bigint
     ORDER BY position + 0 DESC LIMIT ${batch}`,
    [before, words],
  );
}
