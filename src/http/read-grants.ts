/** Grants of one session, or of the newest ones. */
import type { GrantView } from '../runtime/host/grant-view.ts';
import { listGrants } from '../runtime/grants/grants.ts';
import type { GrantList, GrantListQuery } from './api/confirmation.ts';
import type { BoundedReads } from './bounded-reads.ts';

const mostSessions = 200;

export async function readGrants(
  reads: BoundedReads,
  { sessionId, active }: GrantListQuery,
): Promise<GrantList> {
  const { ledger } = reads;
  const state = active === undefined ? {} : { active };
  if (sessionId !== undefined)
    return { rows: await listGrants({ ledger }, { sessionId, ...state }), capped: false };
  const sessions = await ledger.queries.findSessions({ limit: mostSessions });
  const rows: GrantView[] = [];
  for (const session of sessions.rows) {
    rows.push(...(await listGrants({ ledger }, { sessionId: session.sessionId, ...state })));
    await reads.spend(0);
  }
  return { rows, capped: sessions.next !== undefined };
}
