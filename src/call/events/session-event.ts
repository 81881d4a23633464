/** Where a session came from, and the rounds of the agent's loop in it. */
import type { Principal } from '../../tool/tool-context.ts';
import type { EventOf } from './event-of.ts';

/** The origin of a session. */
export type SessionEvent = SessionForked;

/** The first event of a session that begins where another one stood: what came before is served from its record. */
export type SessionForked = EventOf<
  'session.forked',
  {
    fromSessionId: string;
    /** The first call that is not served from the record; undefined at the end of that session. */
    atCallId: string | undefined;
    /** How many calls come before it. */
    position: number;
    /** What happens from there on. */
    after: ForkedHow;
  }
>;

/** Real bodies run, recorded ones are played, or none runs and the outcome says so. */
export type ForkedHow = 'live' | 'recorded' | 'dry';

export type TurnEvent = TurnOpened | TurnEnded;

/** A round of an agent's loop has begun. Travels with the first call of it. */
export type TurnOpened = EventOf<
  'turn.opened',
  { deadlineMs: number | undefined; parentSessionId: string | undefined; principal: Principal | undefined }
>;

/** The round is over: later calls of it are denied. */
export type TurnEnded = EventOf<'turn.ended', { why: TurnEndReason }>;

export type TurnEndReason = 'asked' | 'terminal_result';
