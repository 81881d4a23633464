/** Who may do what. */

/**
 * A viewer reads. An operator makes calls, runs what is handed over, reports, has tools reconcile and undoes. An approver
 * decides about held calls, says what became of calls in doubt and gives grants. An admin does all of that, and exports, verifies and reloads. Neither an
 * operator nor an approver can do what the other does: whoever makes calls cannot approve them.
 */
export type Role = 'viewer' | 'operator' | 'approver' | 'admin';

/** Who asks: `GET /v1/me`. */
export type Me = {
  /** The name of the token: on every decision. */
  readonly name: string;
  readonly role: Role;
  readonly by: 'token' | 'cookie';
  /** When it ends, in milliseconds since 1970; never where nothing is said. */
  readonly expiresAt: number | undefined;
  /** What the role allows, for pages that hide what cannot be done. */
  readonly may: readonly Role[];
};
