/** Roles, and what they allow. */
export type { Role } from 'quittance/internal/call/role';
