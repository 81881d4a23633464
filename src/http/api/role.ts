/** Roles, and what they allow. */
export type { Role } from '../../runtime/host/rights.ts';
