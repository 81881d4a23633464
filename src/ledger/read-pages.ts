/** Reads a list that is longer than a page, until there are enough rows or no more. */
import type { Awaitable } from '../base/json.ts';
import type { Page } from './call-query.ts';

const mostRowsOfPage = 500;

type Place = { readonly limit?: number | undefined; readonly cursor?: string | undefined };

/** Pages with at most `limit` rows in total. If there is more, `next` of the last page says where to continue. */
export async function* readPages<Row, Query extends Place>(
  ask: (query: Query) => Awaitable<Page<Row>>,
  query: Query,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<Page<Row>, void, undefined> {
  let { cursor } = query;
  for (let left = limit; left > 0 && !signal.aborted;) {
    const page = await ask({ ...query, limit: Math.min(left, mostRowsOfPage), cursor });
    yield page;
    if (page.next === undefined) return;
    left -= page.rows.length;
    cursor = page.next;
  }
}
