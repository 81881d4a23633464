/** What the ledger's refusal of an intent means for its call. */
import type { Policy } from '../../policy/judge/compile-policy.ts';
import type { Awaitable } from '../../base/json.ts';
import type { AppendResult } from '../../ledger/journal.ts';
import type { Findings, JudgedCall, Moved } from '../state/call-stages.ts';
import { moved } from '../state/call-stages.ts';
import type { ClaimHolder } from '../../ledger/claims.ts';
import { usedUp } from '../rules/contract-rules.ts';
import type { Stop } from '../state/gate.ts';
import { meetHolder } from '../gates/key.ts';
import { outOfBudget } from '../gates/limits.ts';

/** What the ledger's refusal of an intent means. */
type Refusal =
  /** Another process has changed the call. */
  | { readonly type: 'overtaken' }
  | Moved
  | { readonly type: 'refused'; readonly stop: Stop; readonly found?: Partial<Findings> };

export function takeRefusal(
  live: JudgedCall,
  result: Exclude<AppendResult, { status: 'appended' }>,
): Awaitable<Refusal> {
  switch (result.status) {
    case 'conflict':
      return { type: 'overtaken' };
    case 'displaced':
      throw new TypeError('The ledger refused a cursor that the entry does not have.');
    case 'moved':
      return moved;
    case 'exhausted':
      return exhausted(live, result.counter, result.used);
    case 'claimed':
      return claimed(live, live.claimKey, result.holder);
  }
}

async function exhausted(live: JudgedCall, counter: string, used: number): Promise<Refusal> {
  const share = live.shares.find((each) => each.counter === counter);
  if (share === undefined)
    throw new TypeError(`The ledger refused a reservation that the entry does not have: ${counter}`);
  // Another call took the last use of the grant, so a person is asked.
  if ('grantId' in share) return moved;
  if (!('limits' in share)) return { type: 'refused', stop: outOfBudget(share, used) };
  const { stop, mark } = await usedUp(live, live.policy as Policy, share); // a contract's share comes from a policy
  return { type: 'refused', stop, found: { rules: [...live.rules, mark] } };
}

async function claimed(
  live: JudgedCall,
  claimKey: string | undefined,
  holder: ClaimHolder,
): Promise<Refusal> {
  const verdict = claimKey === undefined ? undefined : await meetHolder(live, claimKey, holder);
  if (verdict?.type === 'stopped') return { type: 'refused', stop: verdict.stop, found: verdict.found };
  // Between the gate and the claim, the key was released or needs a person. A repeat of the same call finds
  // out.
  return {
    type: 'refused',
    stop: {
      type: 'deny',
      reason: 'duplicate',
      code: 'call.twin',
      details: `Call ${holder.callId} took the same idempotency key first.`,
    },
  };
}
