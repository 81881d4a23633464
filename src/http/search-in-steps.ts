/** A page of a list, or the part of it found in a short time, so that a search answers quickly. */
import type { Awaitable } from '../base/json.ts';
import type { Page } from '../ledger/call-query.ts';
import { parseCursor } from '../ledger/page-cursor.ts';
import type { BoundedReads } from './bounded-reads.ts';
import { SearchPace } from './search-pace.ts';

/**
 * After this time a search answers with the rows it has. `next` continues from there. With its last step it takes less than
 * the time after which the queue of readings lets a caller rest.
 */
const longestSearchMs = 30;

type Asked = { readonly limit?: number | undefined; readonly cursor?: string | undefined };

/** `searchedTo`: the time of the last examined row, if the search has not come to its end. */
export type SearchedPage<Row> = Page<Row> & { readonly searchedTo: number | undefined };

export async function searchInSteps<Row, Query extends Asked>(
  reads: Pick<BoundedReads, 'pause'>,
  query: Query,
  find: (step: Query & { readonly scan: number }) => Awaitable<Page<Row>>,
  pace: SearchPace = new SearchPace(longestSearchMs),
): Promise<SearchedPage<Row>> {
  const { limit = 50 } = query;
  const rows: Row[] = [];
  let { cursor } = query;
  for (;;) {
    const page = await find({ ...query, limit: limit - rows.length, cursor, scan: pace.begin() });
    rows.push(...page.rows);
    cursor = page.next;
    if (!pace.end() || cursor === undefined || rows.length >= limit) break;
    await reads.pause();
  }
  const searchedTo = cursor !== undefined && rows.length < limit ? parseCursor(cursor)[0] : undefined;
  return { rows, next: cursor, searchedTo };
}
