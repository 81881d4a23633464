import type { DecidedBy } from './events/gate-event.ts';
import type { SessionBounds } from './session-bounds.ts';

/** A vote that no longer counts: its right had ended when the quorum was complete. */
export type FallenVote = {
  readonly by: DecidedBy;
  readonly decision: Vote['decision'];
  /** When the vote was given. */
  readonly at: number;
  readonly why: string;
};

/** One person's act on an open question. */
export type Vote = {
  readonly decision: 'approve' | 'edit' | 'deny';
  readonly by: DecidedBy;
  readonly at: number;
  readonly reason: string | undefined;
  /** The person also agrees to a grant for the session within these bounds. */
  readonly session?: SessionBounds;
};
