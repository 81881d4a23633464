/**
 * As whom an approval counts, for rules that need several people.
 *
 * 1. A link counts as its maker, unless its user was signed in: several links by one maker are one person.
 * 2. An approval on behalf of another person counts for both, and never in addition to either of them.
 * 3. All unverified names together count once, and never in addition to a verified person: it may be the same one.
 */
import type { DecidedBy } from './events/gate-event.ts';
import type { DirectIdentity, Identity } from './identity.ts';
import { isVerified, selfAsserted } from './identity.ts';
import { isSameIdentity, isSameName, namesOf } from './same-identity.ts';

/** The identity that an act counts as. */
export function countedIdentity(identity: Identity | undefined): DirectIdentity {
  if (identity === undefined) return selfAsserted;
  if (identity.kind !== 'link') return identity;
  const { maker, holder } = identity;
  if (holder.kind === 'signed_in' && isVerified(holder.identity)) return holder.identity;
  return maker.kind === 'person' ? maker.identity : selfAsserted;
}

/** The person who acted, and those they acted for. */
export const countedIdentities = ({ identity, behalf = [] }: DecidedBy): readonly DirectIdentity[] => [
  countedIdentity(identity),
  ...behalf.map((each) => each.identity),
];

/** Was the person, and everyone they acted for, verified? */
export const countsAsVerified = (by: DecidedBy): boolean => countedIdentities(by).every(isVerified);

/** Could two acts be those of one person? Acts of unverified people always could. */
export function isSameVoter(left: DecidedBy, right: DecidedBy): boolean {
  if (!countsAsVerified(left) || !countsAsVerified(right))
    return !countsAsVerified(left) && !countsAsVerified(right);
  return countedIdentities(left).some((one) =>
    countedIdentities(right).some((other) => isOnePerson(one, other)),
  );
}

/**
 * One issuer, or one operating system, tells people apart by an id. Otherwise names decide, and a similar name
 * counts as the same person: a wrong "yes" only asks for one more approval.
 */
export function isOnePerson(left: DirectIdentity, right: DirectIdentity): boolean {
  if (isSameIdentity(left, right)) return true;
  if (left.kind === 'provider' && right.kind === 'provider' && left.issuer === right.issuer) return false;
  if (left.kind === 'os_user' && right.kind === 'os_user') return false;
  if (left.kind === 'token' && right.kind === 'token')
    return isSameName(left.person ?? left.name, right.person ?? right.name);
  return namesOf(left).some((name) => namesOf(right).some((other) => isSameName(name, other)));
}
