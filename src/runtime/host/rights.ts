/** Who may do what: roles and what they include, who may end a delegation, whom a token may speak for. Transports only ask here. */
import { QuittanceError } from '../../base/error.ts';
import { personNames } from '../../call/fits-seat.ts';
import type { DirectIdentity, Identity } from '../../call/event.ts';
import type { Delegation } from '../../call/delegation.ts';
import { isSameIdentity } from '../../call/same-identity.ts';

/**
 * A viewer reads. An operator makes calls, runs handed-off calls, reports on them, reconciles and undoes. An approver
 * decides held calls, resolves unresolved calls and gives grants. An admin may do all of that, and export, verify,
 * reload, erase and drop. Operators cannot approve and approvers cannot make calls, so no one approves a call of their own.
 */
export type Role = 'viewer' | 'operator' | 'approver' | 'admin';

/** What an act needs: a role, either of two roles, or nothing. */
export type Needed = Role | 'operator or approver' | 'anyone';

/** The roles that each role includes, itself among them. */
export const mayDo: { readonly [Has in Role]: readonly Role[] } = {
  viewer: ['viewer'],
  operator: ['viewer', 'operator'],
  approver: ['viewer', 'approver'],
  admin: ['viewer', 'operator', 'approver', 'admin'],
};

export const isRole = (value: unknown): value is Role =>
  typeof value === 'string' && Object.hasOwn(mayDo, value);

/** Does the role allow it? */
export function allows(role: Role | undefined, needed: Needed): boolean {
  if (needed === 'anyone') return true;
  if (role === undefined) return false;
  if (needed === 'operator or approver') return allows(role, 'operator') || allows(role, 'approver');
  return mayDo[role].includes(needed);
}

/** Do the roles of an identity allow it? Only a token or a provider states roles. */
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

/** Throws unless the roles of a worker let it run calls. */
export function refuseWorker(identity: DirectIdentity): void {
  const why = whyRoleForbids(identity, 'operator');
  if (why !== undefined)
    throw new QuittanceError(
      'confirmation.forbidden',
      `This worker may not run calls: ${why}. Give the worker a token with the role operator.`,
    );
}

/**
 * May this person end the delegation? The delegator, the delegate and admins may. Only exact names of a verified
 * identity give a right.
 */
export function mayRevokeDelegation(
  { identity, to }: Pick<Delegation, 'identity' | 'to'>,
  own: DirectIdentity,
): boolean {
  if (own.kind === 'self_asserted') return false;
  if (identityAllows(own, 'admin')) return true;
  const names = personNames(own);
  return (
    names.includes(to) ||
    isSameIdentity(identity, own) ||
    (identity.kind === own.kind && personNames(identity).some((name) => names.includes(name)))
  );
}
