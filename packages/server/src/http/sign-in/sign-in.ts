import type { Role } from '../api/role.ts';
import type { Person, SignInKind } from 'quittance/internal/runtime/tokens';

/** A sign-in within its lifetime, of a person with a role. It counts until `confirmedUntil`. */
export type SignIn = {
  readonly signInId: string;
  readonly kind: SignInKind;
  readonly person: Person;
  readonly role: Role;
  readonly createdAt: number;
  readonly seenAt: number;
  readonly verifiedAt: number;
  /** Its end, if it is used and confirmed until then. */
  readonly endsAt: number;
  /** Until when it is accepted without another confirmation. */
  readonly confirmedUntil: number;
};
