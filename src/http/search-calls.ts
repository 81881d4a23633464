/** A page of calls, or the part found in a short time, so that a search answers quickly. */
import type { CallQuery, CallSummary } from '../ledger/call-query.ts';
import { parseCursor } from '../ledger/page-cursor.ts';
import type { CallPage } from './api/call.ts';
import type { BoundedReads } from './bounded-reads.ts';

/** How many rows a search reads, and for how long, before it answers. `next` continues from there. */
const mostScanned = 16_000;
const scanAtOnce = 2_000;
const longestSearchMs = 40;

export async function searchCalls(
  reads: BoundedReads,
  query: CallQuery & { readonly limit: number },
): Promise<CallPage> {
  const beganMs = performance.now();
  const { limit } = query;
  const rows: CallSummary[] = [];
  let { cursor } = query;
  for (let scanned = 0; ;) {
    const page = await reads.ledger.queries.findCalls({
      ...query,
      limit: limit - rows.length,
      cursor,
      scan: scanAtOnce,
    });
    rows.push(...page.rows);
    cursor = page.next;
    scanned += scanAtOnce;
    const isEnough = cursor === undefined || rows.length >= limit || scanned >= mostScanned;
    if (isEnough || performance.now() - beganMs > longestSearchMs) break;
    await reads.pause();
  }
  const searchedTo = cursor !== undefined && rows.length < limit ? parseCursor(cursor)[0] : undefined;
  return { rows, next: cursor, searchedTo };
}
