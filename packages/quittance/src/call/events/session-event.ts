/** The origin of a session, and its turns. */
import type { Principal } from '../../tool/tool-context.ts';
import type { EventOf } from './event-of.ts';

/** The origin of a session. */
export type SessionEvent = SessionForked;

/**
 * The first event of a session that starts from another one: earlier calls are answered from that session's
 * record.
 */
export type SessionForked = EventOf<
  'session.forked',
  {
    fromSessionId: string;
    /** The first call that is not answered from the record. Undefined at the end of that session. */
    atCallId: string | undefined;
    /** How many calls come before it. */
    position: number;
    /** What happens from there on. */
    after: ForkedHow;
  }
>;

/**
 * `live`: real bodies run. `recorded`: recorded ones are played. `dry`: none runs, and the outcome says so.
 */
export type ForkedHow = 'live' | 'recorded' | 'dry';

export type TurnEvent = TurnOpened | TurnEnded;

/** A turn was opened. Stored with its first call. */
export type TurnOpened = EventOf<
  'turn.opened',
  { deadlineMs: number | undefined; parentSessionId: string | undefined; principal: Principal | undefined }
>;

/** The turn has ended: its later calls are denied. */
export type TurnEnded = EventOf<'turn.ended', { why: TurnEndReason }>;

export type TurnEndReason = 'asked' | 'terminal_result';
