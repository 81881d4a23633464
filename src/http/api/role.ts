/** Roles, and what they allow. */
/**
 * A viewer reads. An operator makes calls, runs handed-off calls, reports on them, reconciles and undoes. An approver
 * decides held calls, resolves unresolved calls and gives grants. An admin may do all of that, and export, verify,
 * reload, erase and drop. Operators cannot approve and approvers cannot make calls, so no one approves a call of their own.
 */
export type Role = 'viewer' | 'operator' | 'approver' | 'admin';
