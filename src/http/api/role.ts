/** Roles, and what they allow. */
import type { Timestamp } from './scalar.ts';

/**
 * A viewer reads. An operator makes calls, runs handed-off calls, reports on them, reconciles and undoes. An approver
 * decides held calls, resolves unresolved calls and gives grants. An admin may do all of that, and export, verify,
 * reload, erase and drop. Operators cannot approve and approvers cannot make calls, so no one approves a call of their own.
 */
export type Role = 'viewer' | 'operator' | 'approver' | 'admin';

/** `GET /v1/me`: the caller. */
export type Me = {
  /** The name of the token. It is stored with every decision. */
  readonly name: string;
  readonly role: Role;
  readonly by: 'token' | 'cookie';
  /** When the token expires. A token without this never expires. */
  readonly expiresAt: Timestamp | undefined;
  /** The roles that this role includes. Pages use it to hide what the caller may not do. */
  readonly may: readonly Role[];
};
