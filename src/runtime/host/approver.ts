/** The person who acts on a question, with everything that rules about approvers need: asker, owner, delegations. */
import type { Redactor } from '../../base/redaction.ts';
import type { ApprovalPolicy } from '../../call/approval-policy.ts';
import type { ActTime } from '../../call/fits-seat.ts';
import { fitsSeat, longestChain } from '../../call/fits-seat.ts';
import type { Call } from '../../call/call.ts';
import { countedIdentity } from '../../call/counted-identity.ts';
import { delegationsIn, findBehalf } from '../../call/delegation.ts';
import type { Behalf, DecidedBy } from '../../call/event.ts';
import { delegationsSubject } from '../../ledger/last-state.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { Acting } from './acting.ts';
import { personOf } from './acting.ts';
import { askerAmong, isAmong, worstOf } from './separate-duties.ts';
import { sessionOwners } from './session-owner.ts';

type Host = { readonly redactor: Redactor; readonly ledger: Pick<Ledger, 'journal' | 'entries' | 'now'> };

export async function approverOf(host: Host, call: Call, acting: Acting): Promise<DecidedBy> {
  const { redactor, ledger } = host;
  const person = personOf(redactor, call, acting);
  const { confirmation } = call;
  const policies = confirmation?.asks.flatMap(({ approval }) => approval ?? []) ?? [];
  if (confirmation === undefined || policies.length === 0) return person;
  const time = { askedAt: confirmation.askedAt, at: ledger.now() };
  const behalf = await behalfOf(host, policies, person, time);
  const all = [acting, ...behalf.map(({ name, identity }) => ({ by: name, identity }))];
  const owners = policies.some(({ exclude }) => exclude?.includes('session_owner') === true)
    ? await sessionOwners(ledger, call.sessionId)
    : undefined;
  return {
    ...person,
    asker: worstOf(all.map((each) => askerAmong(call, each, redactor))),
    ...(owners !== undefined && { owner: worstOf(all.map((each) => isAmong(owners, each, redactor))) }),
    ...(behalf.length > 0 && { behalf }),
  };
}

/** A person who is an approver acts for themselves. Others may act for one who delegated to them. */
async function behalfOf(
  { ledger }: Host,
  policies: readonly ApprovalPolicy[],
  person: DecidedBy,
  time: ActTime,
): Promise<readonly Behalf[]> {
  const fits = (behalf: readonly Behalf[]): boolean =>
    policies.some((policy) =>
      policy.seats.some((seat) =>
        fitsSeat(policy, seat, { ...person, ...(behalf.length > 0 && { behalf }) }, time),
      ),
    );
  if (fits([])) return [];
  const stored = await ledger.journal.readState(ledgerSessionId, delegationsSubject);
  if (stored === undefined) return [];
  const most = Math.max(...policies.map(longestChain));
  const actor = countedIdentity(person.identity);
  return findBehalf(delegationsIn(stored.state), actor, time.at, most, fits) ?? [];
}
