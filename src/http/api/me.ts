import type { Role } from './role.ts';
import type { Timestamp } from './scalar.ts';
import type { SignInView } from './sign-in.ts';

/** `GET /v1/me`: the caller. */
export type Me = {
  /** The name of the token, or of the person who signed in. It is stored with every decision. */
  readonly name: string;
  readonly role: Role;
  readonly by: 'token' | 'cookie';
  /** When the token expires, or the sign-in ends at the latest. A token without this never expires. */
  readonly expiresAt: Timestamp | undefined;
  /** For a person who signed in with an identity provider. */
  readonly signIn: SignInView | undefined;
  /** The roles that this role includes. Pages use it to hide what the caller may not do. */
  readonly may: readonly Role[];
};
