/** Who asks. */
import type { Role } from './api/access.ts';

export type Actor = {
  /** On every decision. Empty for nobody. */
  readonly name: string;
  readonly role: Role | undefined;
  readonly by: 'token' | 'cookie' | 'nobody';
  readonly expiresAt: number | undefined;
};

/** Who may use a route: a role, or anybody at all. */
export type Needed = Role | 'anyone';

export const nobody: Actor = { name: '', role: undefined, by: 'nobody', expiresAt: undefined };

/** What each role may do, itself included. */
export const mayDo: { readonly [Has in Role]: readonly Role[] } = {
  viewer: ['viewer'],
  operator: ['viewer', 'operator'],
  approver: ['viewer', 'approver'],
  admin: ['viewer', 'operator', 'approver', 'admin'],
};

export const isRole = (value: unknown): value is Role =>
  typeof value === 'string' && Object.hasOwn(mayDo, value);
