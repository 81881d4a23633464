/** The actors of requests that carry a token, a login or a sign-in. */
import type { Actor } from './actor.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import type { TokenRecord } from 'quittance/internal/runtime/tokens';

/** The actor of a request with a token, or with a login that a token made. */
export const tokenActor = (
  { tokenId, name, role, person, groups, principals }: TokenRecord,
  by: Actor['by'],
  expiresAt: number | undefined,
): Actor => ({
  name,
  role,
  tokenId,
  person,
  groups,
  principals,
  by,
  expiresAt,
  signIn: undefined,
});

/** The actor of a request by a signed-in person. */
export const signInActor = (signIn: SignIn, by: Actor['by']): Actor => ({
  name: signIn.person.name,
  role: signIn.role,
  tokenId: `sign-in/${signIn.signInId}`,
  person: undefined,
  groups: undefined,
  principals: undefined,
  by,
  // A stream ends then. The page opens it again, and the provider is asked.
  expiresAt: signIn.confirmedUntil,
  signIn,
});
