/** The caller of a request. */
import type { DirectIdentity, Identity } from 'quittance/internal/call/event';
import { isSameIdentity } from 'quittance/internal/call/same-identity';
import type { Role } from 'quittance/internal/call/role';
import type { SignIn } from './sign-in/sign-in.ts';
import type { TokenPrincipals } from 'quittance/internal/runtime/tokens';
import { whyNotPrincipal } from 'quittance/internal/runtime/tokens';
import type { Principal } from 'quittance/internal/tool/tool-context';
import { HttpRefusal } from './problem.ts';

export type Actor = {
  /** Stored with every decision. Empty for an anonymous caller. */
  readonly name: string;
  readonly role: Role | undefined;
  /** The id of the token; the local token's begins with `local/`, a sign-in's with `sign-in/`. Empty for an anonymous caller. */
  readonly tokenId: string;
  /** The owner of the token, for people with several tokens. */
  readonly person: string | undefined;
  /** Groups of the person, for rules about approvers. */
  readonly groups: readonly string[] | undefined;
  /** The principals it may request calls for. Undefined: any. */
  readonly principals: TokenPrincipals | undefined;
  readonly by: 'token' | 'cookie' | 'anonymous';
  readonly expiresAt: number | undefined;
  /** For a person whom the identity provider verified. */
  readonly signIn: SignIn | undefined;
};

export const anonymous: Actor = {
  name: '',
  role: undefined,
  tokenId: '',
  person: undefined,
  groups: undefined,
  principals: undefined,
  by: 'anonymous',
  expiresAt: undefined,
  signIn: undefined,
};

/** The identity recorded for a caller. Only for actors with a role. */
export function identityOf({ name, tokenId, by, person, role, groups: own, signIn }: Actor): DirectIdentity {
  if (signIn !== undefined) {
    const { issuer, subject, aliases, groups } = signIn.person;
    return {
      kind: 'provider',
      issuer,
      subject,
      method: signIn.kind === 'browser' ? 'oidc' : 'oidc device',
      name,
      ...(aliases.length > 0 && { aliases }),
      at: Math.trunc(signIn.verifiedAt),
      groups,
      roles: [signIn.role],
    };
  }
  return {
    kind: 'token',
    id: tokenId,
    name,
    via: by === 'cookie' ? 'browser' : 'bearer',
    ...(person !== undefined && { person }),
    ...(own !== undefined && { groups: own }),
    ...(role !== undefined && { roles: [role] }),
  };
}

/** Did this caller act before? People from a provider may share a name; tokens may not. */
export function isSameActor(
  actor: Actor,
  { name, identity }: { readonly name: string; readonly identity?: Identity | undefined },
): boolean {
  const mine = identityOf(actor);
  if (mine.kind !== 'provider' && identity?.kind !== 'provider') return name === actor.name;
  return identity !== undefined && identity.kind !== 'link' && isSameIdentity(identity, mine);
}

/** Throws unless the caller may speak for the principal. */
export function refusePrincipal(
  { name, principals }: Pick<Actor, 'name' | 'principals'>,
  principal: Principal | undefined,
): void {
  const why = whyNotPrincipal(principals, principal);
  if (why === undefined) return;
  throw new HttpRefusal(
    'http.forbidden',
    `The token ${JSON.stringify(name)} may speak only for the principals it lists: ${why}.`,
  );
}
