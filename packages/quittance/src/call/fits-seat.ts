/** Determines whether an act of a person counts for a seat of an approval policy. Pure: it reads only recorded data. */
import type { ApprovalPolicy, Approvers, Seat } from './approval-policy.ts';
import { approversAt, isRestricted } from './approval-policy.ts';
import { countedIdentity } from './counted-identity.ts';
import type { DecidedBy } from './events/gate-event.ts';
import type { DirectIdentity, Memberships } from './identity.ts';
import { isVerified } from './identity.ts';
import { isSpelledAlike, namesOf, subjectNames } from './same-identity.ts';

/** When the question was asked, and when the person acted. */
export type ActTime = { readonly askedAt: number; readonly at: number };

export function fitsSeat(
  policy: Pick<ApprovalPolicy, 'delegation'>,
  seat: Seat,
  by: DecidedBy,
  { askedAt, at }: ActTime,
): boolean {
  const { behalf = [] } = by;
  if (behalf.length > longestChain(policy)) return false;
  if (behalf.some(({ until }) => at >= until)) return false;
  const first = behalf.at(-1);
  return approversAt(seat, at - askedAt).some((approvers) => {
    if (!isRestricted(approvers)) return behalf.length === 0;
    if (first !== undefined)
      return isVerified(countedIdentity(by.identity)) && isMember(approvers, first.identity);
    return isMember(approvers, countedIdentity(by.identity)) && isVouchedFor(by);
  });
}

/** The most people that an approval may stand for, in addition to the one who gives it. */
export const longestChain = ({ delegation }: Pick<ApprovalPolicy, 'delegation'>): number =>
  delegation === 'none' ? 0 : delegation === 'chain' ? 5 : 1;

/** Only a verified identity is in a group, has a role, or is a person of the list. */
export function isMember(
  { roles = [], groups = [], people = [] }: Approvers,
  identity: DirectIdentity,
): boolean {
  if (!isVerified(identity)) return false;
  const has: Memberships = identity.kind === 'token' || identity.kind === 'provider' ? identity : {};
  return (
    roles.some((role) => has.roles?.includes(role)) ||
    groups.some((group) => has.groups?.includes(group)) ||
    people.some((person) => personNames(identity).includes(person))
  );
}

/**
 * The exact names by which a rule or a delegation may name a person. The display name of a provider is not among them:
 * people can often change it, and would get the rights of another.
 */
export const personNames = (identity: DirectIdentity): readonly string[] =>
  identity.kind === 'provider' ? subjectNames(identity) : namesOf(identity);

/** True if a link names another person than its maker. Such a link does not prove that person's groups. */
function isVouchedFor({ name, identity }: DecidedBy): boolean {
  if (identity?.kind !== 'link' || identity.holder.kind !== 'named') return true;
  const { maker } = identity;
  if (maker.kind !== 'person') return false;
  return [maker.name, ...namesOf(maker.identity)].some((each) => isSpelledAlike(each, name));
}
