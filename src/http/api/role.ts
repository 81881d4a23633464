/** Roles, and what they allow. */
export type { Role } from '../../call/role.ts';
