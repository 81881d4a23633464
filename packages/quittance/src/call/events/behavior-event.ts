import type { JsonObject } from '../../base/json.ts';
import type { ReasonCode } from '../reason.ts';
import type { EventOf } from './event-of.ts';

/** A behavior could not handle an event. This event is the only report of it. */
export type BehaviorFailed = EventOf<
  'behavior.failed',
  {
    behavior: string;
    /** The code of the escaped ToolError, or another cause. */
    reason: ReasonCode | BehaviorReason;
    message: string;
    /** Number of deliveries of the event so far. */
    attempt: number;
    triggeringEventId: string;
    /** The call of that event. */
    triggeringCallId: string | undefined;
    payloadExtras: JsonObject | undefined;
  }
>;

/**
 * It threw something other than a ToolError, it took too long, or too many behaviors triggered each other.
 */
export type BehaviorReason = 'behavior.error' | 'behavior.timeout' | 'behavior.depth' | 'behavior.lost';
