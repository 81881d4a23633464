import type { JsonObject } from '../../base/json.ts';
import type { ReasonCode } from '../reason.ts';
import type { EventOf } from './event-of.ts';

/** A behavior could not handle an event. Its caller hears of it here and nowhere else. */
export type BehaviorFailed = EventOf<
  'behavior.failed',
  {
    behavior: string;
    /** The code of the ToolError that escaped, or what else went wrong. */
    reason: ReasonCode | BehaviorReason;
    message: string;
    /** How many times it was given the event by then. */
    attempt: number;
    triggeringEventId: string;
    /** The call that event tells of. */
    triggeringCallId: string | undefined;
    payloadExtras: JsonObject | undefined;
  }
>;

/** It threw something that is no ToolError; it took too long; too many behaviors had set each other off. */
export type BehaviorReason = 'behavior.error' | 'behavior.timeout' | 'behavior.depth' | 'behavior.lost';
