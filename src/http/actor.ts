/** Who asks. */
import type { TokenIdentity } from '../call/event.ts';
import type { Role } from './api/access.ts';
import type { TokenPrincipals } from './token-principals.ts';

export type Actor = {
  /** On every decision. Empty for nobody. */
  readonly name: string;
  readonly role: Role | undefined;
  /** The id of the token; that of the process's own token begins with `local/`. Empty for nobody. */
  readonly tokenId: string;
  /** The person it belongs to, where one person has several tokens. */
  readonly person: string | undefined;
  /** For whom they may ask for calls; for anybody where undefined. */
  readonly principals: TokenPrincipals | undefined;
  readonly by: 'token' | 'cookie' | 'nobody';
  readonly expiresAt: number | undefined;
};

/** Who may use a route: a role, one of two roles, or anybody at all. */
export type Needed = Role | 'operator or approver' | 'anyone';

export const nobody: Actor = {
  name: '',
  role: undefined,
  tokenId: '',
  person: undefined,
  principals: undefined,
  by: 'nobody',
  expiresAt: undefined,
};

/** How a person or program that came with a token is known. Only for actors with a role. */
export const identityOf = ({ name, tokenId, by, person }: Actor): TokenIdentity => ({
  kind: 'token',
  id: tokenId,
  name,
  via: by === 'cookie' ? 'browser' : 'bearer',
  ...(person !== undefined && { person }),
});

/** What each role may do, itself included. */
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
