/**
 * Counts approvals and denials of a question.
 *
 * 1. All asks must be satisfied, by the same approvals. An ask without a policy needs one approval.
 * 2. A person counts once, with their latest act. Who counts as one person: `counted-identity.ts`.
 * 3. Pure and total: the runtime, `refuse` and `verify` come to the same answer from the same record.
 */
import type { ApprovalPolicy, Seat } from './approval-policy.ts';
import { describeApprovers, isApprovalPolicy } from './approval-policy.ts';
import { fitsSeat } from './fits-seat.ts';
import { countsAsVerified, isSameVoter, isSurelySameVoter } from './counted-identity.ts';
import type { Ask } from './events/confirmation-event.ts';
import type { DecidedBy } from './events/gate-event.ts';
import type { FallenVote, Vote } from './vote.ts';

/** Approvals that a question still needs. */
export type MissingSeat = {
  /** The rule or gate that needs it. */
  readonly ruleId: string;
  /** The people who could fill it, in words. */
  readonly who: string;
  readonly missing: number;
  readonly quorum: number;
};

export type Counted = {
  readonly asks: readonly Ask[];
  readonly askedAt: number;
};

export const isApproval = ({ decision }: Pick<Vote, 'decision'>): boolean => decision !== 'deny';

/** The votes after one more: a person's new act replaces their earlier one, and an edit voids all approvals. */
export const withVote = (votes: readonly Vote[], vote: Vote): readonly Vote[] => [
  ...votes.filter((each) => !replaces(vote, each) && !(vote.decision === 'edit' && isApproval(each))),
  vote,
];

/** The question with its void votes listed separately. */
export function withoutFallen<
  Asked extends { readonly votes: readonly Vote[]; readonly fallen: readonly FallenVote[] },
>(asked: Asked, fallen: readonly FallenVote[] = []): Asked {
  if (fallen.length === 0) return asked;
  const votes = asked.votes.filter((vote) => !fallen.some((each) => isFallen(vote, each)));
  return { ...asked, votes, fallen: [...asked.fallen, ...fallen] };
}

/** True if this is the void vote. */
export const isFallen = (vote: Vote, { by, decision, at }: FallenVote): boolean =>
  vote.at === at && vote.decision === decision && vote.by.name === by.name;

/** True if a vote replaces an earlier one. Only the same person can withdraw a denial: a similar name, or a delegate, is not enough. */
const replaces = (vote: Vote, earlier: Vote): boolean =>
  isApproval(vote) && !isApproval(earlier)
    ? isSurelySameVoter(earlier.by, vote.by)
    : isSameVoter(earlier.by, vote.by);

/** The seats that are missing until every ask is satisfied. Empty: the call may run. */
export function missingOf({ asks, askedAt }: Counted, votes: readonly Vote[]): readonly MissingSeat[] {
  const approvals = votes.filter(isApproval);
  const policies = asks.flatMap(({ approval, by }) => (approval === undefined ? [] : [{ approval, by }]));
  if (policies.length === 0)
    return approvals.length > 0
      ? []
      : [{ ruleId: asks[0]?.by.name ?? '', who: describeApprovers({}), missing: 1, quorum: 1 }];
  const voters = groupVoters(approvals.filter(({ by }) => countsAsVerified(by)));
  const unverified = approvals.filter(({ by }) => !countsAsVerified(by));
  const sets = unverified.length === 0 ? [voters] : [voters, [unverified]];
  return policies.flatMap(({ approval, by }) => {
    const [first = [], ...others] = sets.map((set) => missingSeats(approval, by.name, set, askedAt));
    return others.some((each) => each.length === 0) ? [] : first;
  });
}

/** For people: `1 of group finance; 2 of role approver`. */
export const describeMissing = (missing: readonly MissingSeat[]): string =>
  missing.length === 0 ? 'nothing' : missing.map((each) => `${each.missing} of ${each.who}`).join('; ');

/** True if the quorum of every ask is complete. */
export const isQuorumComplete = (counted: Counted, votes: readonly Vote[]): boolean =>
  missingOf(counted, votes).length === 0;

/** How many denials end the question. The strictest ask decides. */
export const denialsNeeded = (asks: readonly Ask[]): number =>
  Math.min(...asks.map(({ approval }) => approval?.denials ?? 1), Number.MAX_SAFE_INTEGER);

export function hasEnoughDenials({ asks }: Counted, votes: readonly Vote[]): boolean {
  const denials = votes.filter((vote) => !isApproval(vote));
  const verified = groupVoters(denials.filter(({ by }) => countsAsVerified(by))).length;
  // An unverified name may be one of the verified people.
  return Math.max(verified, Math.min(denials.length, 1)) >= denialsNeeded(asks);
}

/** True if any ask has an approval policy. */
export const hasPolicy = (asks: readonly Ask[]): boolean =>
  asks.some(({ approval }) => approval !== undefined);

/** The votes grouped by person. Votes that could be of one person are joined, also through a third. */
function groupVoters(votes: readonly Vote[]): readonly (readonly Vote[])[] {
  let groups: (readonly Vote[])[] = [];
  for (const vote of votes) {
    const same = groups.filter((group) => group.some((each) => isSameVoter(each.by, vote.by)));
    groups = [...groups.filter((group) => !same.includes(group)), [...same.flat(), vote]];
  }
  return groups;
}

function missingSeats(
  policy: ApprovalPolicy,
  ruleId: string,
  voters: readonly (readonly Vote[])[],
  askedAt: number,
): readonly MissingSeat[] {
  // A newer version may have written an unknown restriction.
  if (!isApprovalPolicy(policy))
    return [{ ruleId, who: 'an approver of a newer version', missing: 1, quorum: 1 }];
  const filled = policy.shared === true ? fillShared : fillApart;
  const counts = filled(policy.seats, voters, (seat, voter) =>
    voter.some(({ by, at }) => !isExcluded(policy, by) && fitsSeat(policy, seat, by, { askedAt, at })),
  );
  return policy.seats.flatMap((seat, index) => {
    const missing = seat.quorum - (counts[index] ?? 0);
    return missing <= 0 ? [] : [{ ruleId, who: describeSeat(seat), missing, quorum: seat.quorum }];
  });
}

const describeSeat = ({ escalate = [], ...seat }: Seat): string =>
  [seat, ...escalate].map(describeApprovers).join(', later also ');

/** An unknown requester or owner may be the person themselves. */
export const isExcluded = ({ exclude = [] }: Pick<ApprovalPolicy, 'exclude'>, by: DecidedBy): boolean =>
  exclude.some((who) => (who === 'asker' ? by.asker : by.owner) !== 'other');

type Voters = readonly (readonly Vote[])[];
type Fits = (seat: Seat, voter: readonly Vote[]) => boolean;

/** How many places of each seat are filled if a person may fill several seats. */
const fillShared = (seats: readonly Seat[], voters: Voters, fits: Fits): readonly number[] =>
  seats.map((seat) => Math.min(seat.quorum, voters.filter((voter) => fits(seat, voter)).length));

/** The same if a person fills one place at most: a maximum matching, found by augmenting paths. */
function fillApart(seats: readonly Seat[], voters: Voters, fits: Fits): readonly number[] {
  const seatOf = new Map<number, number>();
  const counts = seats.map(() => 0);
  const place = (voter: number, tried: Set<number>): boolean => {
    for (const [index, seat] of seats.entries()) {
      if (tried.has(index) || !fits(seat, voters[voter] ?? [])) continue;
      tried.add(index);
      const holders = [...seatOf].flatMap(([each, its]) => (its === index ? [each] : []));
      if (holders.length < seat.quorum || holders.some((holder) => place(holder, tried))) {
        seatOf.set(voter, index);
        return true;
      }
    }
    return false;
  };
  for (const voter of voters.keys()) place(voter, new Set());
  for (const index of seatOf.values()) counts[index] = (counts[index] ?? 0) + 1;
  return counts;
}
