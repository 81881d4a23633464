/**
 * The identity that an approval counts for, in rules that need several people.
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

/** True if the person, and everyone they acted for, was verified. */
export const countsAsVerified = (by: DecidedBy): boolean => countedIdentities(by).every(isVerified);

/** True if two acts could be those of one person. Acts of unverified people always could. */
export function isSameVoter(left: DecidedBy, right: DecidedBy): boolean {
  if (!countsAsVerified(left) || !countsAsVerified(right))
    return !countsAsVerified(left) && !countsAsVerified(right);
  return peopleIn(left).some((one) => peopleIn(right).some((other) => isOnePerson(one, other)));
}

/** True if two acts are certainly those of one person: by a verified identity, and not by a name that people choose. */
export function isSurelySameVoter(left: DecidedBy, right: DecidedBy): boolean {
  const [one, other] = [countedIdentity(left.identity), countedIdentity(right.identity)];
  if (!isVerified(one) || !isVerified(other)) return isVerified(one) === isVerified(other);
  if (one.kind === 'token' && other.kind === 'token' && one.person !== undefined)
    return one.person === other.person;
  // Ids of users are those of one machine.
  if (one.kind === 'os_user' && other.kind === 'os_user' && one.user !== other.user) return false;
  return isSameIdentity(one, other);
}

type CountedPerson = { readonly name: string; readonly identity: DirectIdentity };

/** The person who acted, and those they acted for, with their names. */
const peopleIn = ({ name, identity, behalf = [] }: DecidedBy): readonly CountedPerson[] => [
  { name, identity: countedIdentity(identity) },
  ...behalf,
];

/**
 * One issuer tells people apart by an id, and owners of tokens by their names. Otherwise names decide, and a similar name
 * counts as the same person: a wrong "yes" only asks for one more approval. This includes users of operating systems:
 * machines may share a ledger, and one person may have another id on each.
 */
function isOnePerson(one: CountedPerson, other: CountedPerson): boolean {
  const [left, right] = [one.identity, other.identity];
  if (isSameIdentity(left, right)) return true;
  if (left.kind === 'provider' && right.kind === 'provider' && left.issuer === right.issuer) return false;
  if (
    left.kind === 'token' &&
    right.kind === 'token' &&
    left.person !== undefined &&
    right.person !== undefined
  )
    return isSameName(left.person, right.person);
  return knownAs(one).some((name) => knownAs(other).some((each) => isSameName(name, each)));
}

/** A user of the operating system typed a name. It gives no right, but others may know the person by it. */
const knownAs = ({ name, identity }: CountedPerson): readonly string[] =>
  identity.kind === 'os_user' ? [name, ...namesOf(identity)] : namesOf(identity);
