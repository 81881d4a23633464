/** The caller of a request. */
import type { TokenIdentity } from '../call/event.ts';
import type { Role } from './api/role.ts';
import type { TokenPrincipals } from './token-principals.ts';

export type Actor = {
  /** Stored with every decision. Empty for an anonymous caller. */
  readonly name: string;
  readonly role: Role | undefined;
  /** The id of the token; the local token's begins with `local/`. Empty for an anonymous caller. */
  readonly tokenId: string;
  /** The owner of the token, for people with several tokens. */
  readonly person: string | undefined;
  /** The principals it may request calls for. Undefined: any. */
  readonly principals: TokenPrincipals | undefined;
  readonly by: 'token' | 'cookie' | 'anonymous';
  readonly expiresAt: number | undefined;
};

/** Who may use a route: a role, either of two roles, or any caller. */
export type Needed = Role | 'operator or approver' | 'anyone';

export const anonymous: Actor = {
  name: '',
  role: undefined,
  tokenId: '',
  person: undefined,
  principals: undefined,
  by: 'anonymous',
  expiresAt: undefined,
};

/** The identity recorded for a caller with a token. Only for actors with a role. */
export const identityOf = ({ name, tokenId, by, person }: Actor): TokenIdentity => ({
  kind: 'token',
  id: tokenId,
  name,
  via: by === 'cookie' ? 'browser' : 'bearer',
  ...(person !== undefined && { person }),
});

/** The roles that each role includes, itself among them. */
export const mayDo: { readonly [Has in Role]: readonly Role[] } = {
  viewer: ['viewer'],
  operator: ['viewer', 'operator'],
  approver: ['viewer', 'approver'],
  admin: ['viewer', 'operator', 'approver', 'admin'],
};

/** Does the role allow what a route needs? */
export function allows(role: Role | undefined, needed: Needed): boolean {
  if (needed === 'anyone') return true;
  if (role === undefined) return false;
  if (needed === 'operator or approver') return allows(role, 'operator') || allows(role, 'approver');
  return mayDo[role].includes(needed);
}

export const isRole = (value: unknown): value is Role =>
  typeof value === 'string' && Object.hasOwn(mayDo, value);
