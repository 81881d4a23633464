/** Lists that are longer than a page: read a page at a time, until there are enough or no more. */
import type { Awaitable } from '../base/json.ts';
import type { Page } from '../ledger/call-query.ts';
import type { Given } from './command.ts';
import { UsageError } from './usage-error.ts';

const mostRowsOfPage = 500;

type Place = { readonly limit?: number | undefined; readonly cursor?: string | undefined };

/** Pages of at most `limit` rows together. `next` of the last says where to go on, if there is more. */
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

/** How many rows were asked for. */
export function limitOf(given: Given): number {
  if (given.has('all') && given.has('limit'))
    throw new UsageError('--all and --limit cannot both hold.', ['--all']);
  return given.has('all') ? Number.POSITIVE_INFINITY : (given.count('limit') ?? 50);
}
