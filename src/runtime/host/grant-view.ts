import type { Grant } from '../../call/grant.ts';
import { grantCounter, isPast } from '../../call/grant.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** A grant in its current state. */
export type GrantView = Grant & {
  readonly status: GrantStatus;
  /** How many calls it approved. */
  readonly used: number;
};

export type GrantStatus = 'active' | 'used_up' | 'expired' | 'revoked';

export async function toGrantViews(
  ledger: Pick<Ledger, 'claims' | 'now'>,
  grants: readonly Grant[],
): Promise<readonly GrantView[]> {
  if (grants.length === 0) return [];
  const counters = await ledger.claims.readCounters(
    grants.map(({ sessionId, grantId }) => grantCounter(sessionId, grantId)),
  );
  const now = ledger.now();
  return grants.map((grant, index) => {
    const counter = counters[index] ?? { used: 0, reserved: 0 };
    const used = counter.used + counter.reserved;
    return { ...grant, used, status: statusOf(grant, used, now) };
  });
}

function statusOf(grant: Grant, used: number, now: number): GrantStatus {
  if (grant.revoked !== undefined) return 'revoked';
  if (isPast(grant, now)) return 'expired';
  return grant.uses !== undefined && used >= grant.uses ? 'used_up' : 'active';
}
