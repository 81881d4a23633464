/** The heads of the chains, page by page. */
import type { HeadPage } from './api/job.ts';
import type { BoundedReads } from './bounded-reads.ts';
import { HttpRefusal } from './problem.ts';

export async function readHeads(
  { ledger }: BoundedReads,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<HeadPage> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  // One more than requested shows whether there are more.
  const found = await ledger.integrity.findHeads({ after, limit: limit + 1 });
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return {
    rows,
    next: found.length > limit && last !== undefined ? encodeCursor(last.sessionId) : undefined,
    sessions: await ledger.integrity.countSessions(),
  };
}

const encodeCursor = (sessionId: string): string =>
  Buffer.from(JSON.stringify(sessionId)).toString('base64url');

function decodeCursor(cursor: string): string {
  try {
    const sessionId: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (typeof sessionId === 'string') return sessionId;
  } catch {
    // Reported below.
  }
  throw new HttpRefusal('http.bad_request', 'cursor must be the "next" of the page before.');
}
