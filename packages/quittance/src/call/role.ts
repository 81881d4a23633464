/** Roles: what each includes, and whether those of an identity allow an act. */
import { QuittanceError } from '../base/error.ts';
import type { DirectIdentity, Identity } from './identity.ts';

/**
 * A viewer reads. An operator makes calls, runs handed-off calls, reports on them, reconciles and undoes. An approver
 * decides held calls, resolves unresolved calls and gives grants. An admin may do all of that, and export, verify,
 * reload, erase and drop. Operators cannot approve and approvers cannot make calls, so no one approves a call of their own.
 */
export type Role = 'viewer' | 'operator' | 'approver' | 'admin';

/** The role required for an act. */
export type Needed = Role | 'operator or approver' | 'anyone';

/** The roles that each role includes, with itself. */
export const mayDo: { readonly [Has in Role]: readonly Role[] } = {
  viewer: ['viewer'],
  operator: ['viewer', 'operator'],
  approver: ['viewer', 'approver'],
  admin: ['viewer', 'operator', 'approver', 'admin'],
};

export const isRole = (value: unknown): value is Role =>
  typeof value === 'string' && Object.hasOwn(mayDo, value);

/** True if the role allows the act. */
export function allows(role: Role | undefined, needed: Needed): boolean {
  if (needed === 'anyone') return true;
  if (role === undefined) return false;
  if (needed === 'operator or approver') return allows(role, 'operator') || allows(role, 'approver');
  return mayDo[role].includes(needed);
}

/** The role required to call a tool. Without the role operator, only tools that surely read may be called. */
export const neededToCall = ({ surelyReads }: { readonly surelyReads: boolean }): Role =>
  surelyReads ? 'viewer' : 'operator';

/** True if the roles of an identity allow the act. Only a token or a provider states roles. */
export const identityAllows = (identity: DirectIdentity, needed: Needed): boolean =>
  (identity.kind === 'token' || identity.kind === 'provider') &&
  (identity.roles ?? []).some((role) => isRole(role) && allows(role, needed));

/**
 * Why the roles of an identity do not allow an act. Undefined: they do, or the identity states no role of ours. A host that
 * has roles of its own says with `mayDecide` and `mayGrant` who may do what.
 */
export function whyRoleForbids(given: Identity, needed: Needed): string | undefined {
  const identity = given.kind === 'link' && given.holder.kind === 'signed_in' ? given.holder.identity : given;
  if (identity.kind !== 'token' && identity.kind !== 'provider') return undefined;
  const own = (identity.roles ?? []).filter(isRole);
  if (own.length === 0 || own.some((role) => allows(role, needed))) return undefined;
  return `they have the role ${own.join(', ')}, and this needs ${needed}`;
}

/** Throws unless the roles of this identity allow an act, such as `erase contents`. */
export function refuseRole(identity: DirectIdentity | undefined, needed: Needed, act: string): void {
  const why = identity && whyRoleForbids(identity, needed);
  if (why !== undefined)
    throw new QuittanceError(
      'confirmation.forbidden',
      `This person or program may not ${act}: ${why}. Use a token, or an account, with that role.`,
    );
}
