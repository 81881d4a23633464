/** Reads a list that is longer than a page, until there are enough rows or no more. */
import type { Awaitable } from '../base/json.ts';
import type { Page } from './call-query.ts';

const mostRowsOfPage = 500;

/** Rows that one page examines at most, if no index finds the matching ones: then `signal` ends a search soon. */
const mostExaminedByPage = 2_000;

type Place = {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly scan?: number | undefined;
};

/**
 * Pages with at most `limit` rows in total. A page may be short or empty, and others still follow. If there is more, `next`
 * of the last page says where to continue.
 */
export async function* readPages<Row, Query extends Place>(
  ask: (query: Query) => Awaitable<Page<Row>>,
  query: Query,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<Page<Row>, void, undefined> {
  let { cursor } = query;
  for (let left = limit; left > 0 && !signal.aborted;) {
    const page = await ask({
      ...query,
      limit: Math.min(left, mostRowsOfPage),
      cursor,
      scan: mostExaminedByPage,
    });
    yield page;
    if (page.next === undefined) return;
    left -= page.rows.length;
    cursor = page.next;
  }
}
