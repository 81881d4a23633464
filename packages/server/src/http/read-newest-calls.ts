/** The newest calls of a session, read within the limits of a request. */
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import type { StoredCall } from 'quittance/internal/ledger/journal';
import type { BoundedReads } from './bounded-reads.ts';
import { findSessions, findCalls } from 'quittance/internal/ledger/reads';

export type NewestCalls = {
  /** Oldest first. `stored` is missing if the call is too large to read. */
  readonly calls: readonly { readonly callId: string; readonly stored: StoredCall | undefined }[];
  /** Number of calls of the session. */
  readonly total: number;
  /** `found`: the call that ends the list is its first. `all`: the list is complete. `cut`: it is not. */
  readonly end: 'found' | 'all' | 'cut';
};

const pageSize = 100;

export async function readNewestCalls(
  reads: BoundedReads,
  sessionId: string,
  { most, until }: { readonly most: number; readonly until?: (row: CallSummary) => boolean },
): Promise<NewestCalls> {
  const { ledger } = reads;
  const {
    rows: [session],
  } = await findSessions(ledger, { sessionId, limit: 1 });
  const total = session?.calls ?? 0;
  const calls: NewestCalls['calls'][number][] = [];
  let cursor: string | undefined;
  do {
    const page = await findCalls(ledger, {
      sessionId,
      limit: Math.min(pageSize, most - calls.length),
      cursor,
    });
    const last = until === undefined ? -1 : page.rows.findIndex(until);
    const rows = last === -1 ? page.rows : page.rows.slice(0, last + 1);
    const read = await reads.calls(rows);
    for (const [index, { callId }] of rows.entries()) {
      const stored = read[index];
      calls.push({ callId, stored: stored === 'large' ? undefined : stored });
    }
    if (last !== -1) return { calls: calls.reverse(), total, end: 'found' };
    cursor = page.next;
  } while (cursor !== undefined && calls.length < most && !reads.isSpent);
  return { calls: calls.reverse(), total, end: cursor === undefined ? 'all' : 'cut' };
}
