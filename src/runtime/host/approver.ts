/** The person who acts on a question, with everything that rules about approvers need: asker, owner, delegations. */
import type { Redactor } from '../../base/redaction.ts';
import type { ApprovalPolicy } from '../../call/approval-policy.ts';
import { fitsSeat, longestChain } from '../../call/fits-seat.ts';
import type { Call, Question } from '../../call/call.ts';
import { countedIdentity, isSameVoter } from '../../call/counted-identity.ts';
import { delegationsIn, findBehalf } from '../../call/delegation.ts';
import type { Behalf, DecidedBy } from '../../call/event.ts';
import { isExcluded } from '../../call/quorum.ts';
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
  const owners = policies.some(({ exclude }) => exclude?.includes('session_owner') === true)
    ? await sessionOwners(ledger, call.sessionId)
    : undefined;
  const actFor = (behalf: readonly Behalf[]): DecidedBy => {
    const all = [acting, ...behalf.map(({ name, identity }) => ({ by: name, identity }))];
    return {
      ...person,
      asker: worstOf(all.map((each) => askerAmong(call, each, redactor))),
      ...(owners !== undefined && { owner: worstOf(all.map((each) => isAmong(owners, each, redactor))) }),
      ...(behalf.length > 0 && { behalf }),
    };
  };
  return actFor(await behalfOf(ledger, confirmation, policies, actFor));
}

/** A person who is an approver acts for themselves. Others may act for one who delegated to them. */
async function behalfOf(
  ledger: Host['ledger'],
  { askedAt, votes }: Pick<Question, 'askedAt' | 'votes'>,
  policies: readonly ApprovalPolicy[],
  actFor: (behalf: readonly Behalf[]) => DecidedBy,
): Promise<readonly Behalf[]> {
  const time = { askedAt, at: ledger.now() };
  const fits = (by: DecidedBy, policy: ApprovalPolicy): boolean =>
    policy.seats.some((seat) => fitsSeat(policy, seat, by, time));
  const own = actFor([]);
  if (policies.some((policy) => fits(own, policy))) return [];
  const stored = await ledger.journal.readState(ledgerSessionId, delegationsSubject);
  if (stored === undefined) return [];
  const most = Math.max(...policies.map(longestChain));
  const actor = countedIdentity(own.identity);
  const find = (accepts: (by: DecidedBy) => boolean): readonly Behalf[] | undefined =>
    findBehalf(delegationsIn(stored.state), actor, time.at, most, (behalf) => accepts(actFor(behalf)));
  // A delegate of several people acts for one whose approval counts and is still missing, if there is one.
  return (
    find(
      (by) =>
        policies.some((policy) => !isExcluded(policy, by) && fits(by, policy)) &&
        !votes.some((vote) => isSameVoter(vote.by, by)),
    ) ??
    find((by) => policies.some((policy) => fits(by, policy))) ??
    []
  );
}
