/** Changes of single rows in the stored sign-ins. */
import type { Person } from './person.ts';
import type { KeptSignIn, SignInContent } from './sign-in-content.ts';

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

/** Notes that the provider confirmed the person. */
export function withPerson(
  content: SignInContent,
  person: Person,
  at: number,
  keptMs: number,
): SignInContent {
  const others = content.people.filter(
    (known) => !isSamePerson(known.person, person) && at < known.verifiedAt + keptMs,
  );
  return { ...content, people: [...others, { person, verifiedAt: at }] };
}
