import type { DecidedBy } from './events/gate-event.ts';
import type { SessionBounds } from './session-bounds.ts';

/** One person's act on an open question. */
export type Vote = {
  readonly decision: 'approve' | 'edit' | 'deny';
  readonly by: DecidedBy;
  readonly at: number;
  readonly reason: string | undefined;
  /** The person also agrees to a grant for the session within these bounds. */
  readonly session?: SessionBounds;
};
