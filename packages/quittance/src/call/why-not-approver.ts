/** Determines whether a person's act counts for an open question, and whether it ends the question. */
import type { Question } from './call.ts';
import { describeApprovers, isApprovalPolicy } from './approval-policy.ts';
import { fitsSeat } from './fits-seat.ts';
import { countsAsVerified, isSameVoter } from './counted-identity.ts';
import type { ConfirmationDecision } from './events/confirmation-event.ts';
import type { DecidedBy } from './events/gate-event.ts';
import type { Vote } from './vote.ts';
import { hasEnoughDenials, hasPolicy, isQuorumComplete, isExcluded, withVote } from './quorum.ts';

type Act = { readonly decision: ConfirmationDecision; readonly by: DecidedBy };
type Asked = Pick<Question, 'asks' | 'askedAt' | 'votes'>;

/** The reason why the person may not take part in this question. Undefined if they may. */
export function whyNotApprover(asked: Asked, { decision, by }: Act, at: number): string | undefined {
  if (!hasPolicy(asked.asks)) return undefined;
  const policies = asked.asks.flatMap(({ approval }) => approval ?? []).filter(isApprovalPolicy);
  const time = { askedAt: asked.askedAt, at };
  const fitting = policies.filter((policy) => policy.seats.some((seat) => fitsSeat(policy, seat, by, time)));
  if (fitting.length === 0) {
    const who = [...new Set(policies.flatMap(({ seats }) => seats.map(describeApprovers)))].join('; ');
    return countsAsVerified(by)
      ? `the rule asks for ${who}, and they are not among them`
      : `the rule asks for ${who}, and their identity is not verified`;
  }
  const isApproval = decision === 'approve' || decision === 'edit';
  if (isApproval && fitting.every((policy) => isExcluded(policy, by))) return whyExcluded(by);
  const earlier = earlierVote(asked, { decision, by });
  if (earlier === undefined) return undefined;
  const done = decision === 'deny' ? 'denied' : 'approved';
  return countsAsVerified(by)
    ? `they have ${done} already${earlier.by.name === by.name ? '' : ` as ${earlier.by.name}`}, and a person counts once`
    : `${earlier.by.name} has ${done} already, and all unverified names count once`;
}

/** The earlier act of the same person that this one would repeat. */
export function earlierVote({ votes }: Pick<Asked, 'votes'>, { decision, by }: Act): Vote | undefined {
  if (decision !== 'approve' && decision !== 'deny') return undefined;
  const isApproval = decision !== 'deny';
  return votes.find((vote) => isSameVoter(vote.by, by) && (vote.decision !== 'deny') === isApproval);
}

function whyExcluded({ asker, owner }: DecidedBy): string {
  if (asker === 'same')
    return 'the call was requested by them or on their behalf, and the rule wants another person';
  if (owner === 'same') return 'the session belongs to them, and the rule wants another person';
  return 'the record does not say who requested the call or owns the session, so it may be them. Open turns with a principal';
}

/** True if this act ends the question. */
export function completes(
  asked: Asked,
  act: { readonly decision: Vote['decision']; readonly by: DecidedBy; readonly reason: string | undefined },
  at: number,
): boolean {
  const votes = withVote(asked.votes, { decision: act.decision, by: act.by, at, reason: act.reason });
  return act.decision === 'deny' ? hasEnoughDenials(asked, votes) : isQuorumComplete(asked, votes);
}
