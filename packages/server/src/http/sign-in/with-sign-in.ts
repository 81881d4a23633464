/** Changes of single rows in the stored sign-ins. */
import type { Person, KeptSignIn, ReplacedSecret, SignInContent } from 'quittance/internal/runtime/tokens';
import { limits } from 'quittance/internal/call/limits';
import type { Role } from 'quittance/internal/call/role';

export type PersonId = Pick<Person, 'issuer' | 'subject'>;
export const isSamePerson = (left: PersonId, right: PersonId): boolean =>
  left.issuer === right.issuer && left.subject === right.subject;

export function withSignIn(
  content: SignInContent,
  signInId: string,
  change: (kept: KeptSignIn) => KeptSignIn,
): SignInContent {
  const signIns = content.signIns.map((kept) => (kept.signInId === signInId ? change(kept) : kept));
  return { ...content, signIns };
}

/** Their successor was used, so the browser has it: from then on they count as stolen. */
export const retire = (replaced: readonly ReplacedSecret[], at: number): readonly ReplacedSecret[] =>
  replaced.map(({ hash, retiredAt }) => ({ hash, retiredAt: retiredAt ?? at }));

/**
 * Removes all that a person has here: sign-ins, command lines that have not fetched theirs yet, and the record that
 * decision links depend on.
 */
export const withoutPerson = (
  content: SignInContent,
  isTheirs: (person: PersonId) => boolean,
): SignInContent => ({
  ...content,
  signIns: content.signIns.filter(({ person }) => !isTheirs(person)),
  people: content.people.filter(({ person }) => !isTheirs(person)),
  devices: content.devices.filter(({ signedIn }) => signedIn === undefined || !isTheirs(signedIn.person)),
});

/**
 * How long a person is remembered after the provider confirmed them last. Grants that they gave apply meanwhile; their
 * sign-ins and decision links end earlier.
 */
export const personKeptMs = ({ lifetimeMs }: { readonly lifetimeMs: number }): number =>
  Math.max(lifetimeMs, limits.personKeptMs);

/** Notes that the provider confirmed the person, unless a later confirmation is known. */
export function withPerson(
  content: SignInContent,
  person: Person,
  at: number,
  keptMs: number,
  role: Role | undefined,
): SignInContent {
  const known = content.people.find((each) => isSamePerson(each.person, person));
  if (known !== undefined && known.verifiedAt > at) return content;
  const others = content.people.filter((each) => each !== known && at < each.verifiedAt + keptMs);
  return { ...content, people: [...others, { person, verifiedAt: at, ...(role !== undefined && { role }) }] };
}
