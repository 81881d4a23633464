/** Requests for a retry. */
import type { CallEventOf, EventOf } from './event-of.ts';

type RetryData = {
  /**
   * The event that the retry answers: the end of an attempt, or an event that a behavior failed to handle.
   */
  forEvent: string;
  /** The call of that event. */
  forCallId: string | undefined;
  /** The number of the requested attempt. 2 is the first retry. */
  attempt: number;
  /** Not before this time, by the ledger's clock. Undefined: at once. */
  notBefore: number | undefined;
  /** The behavior or the person that requests it. */
  by: string;
  /** The behavior that gets the event again. Undefined if the call is retried. */
  behavior: string | undefined;
};

/** The call is to be retried: the same call and key, another attempt. */
export type RetryRequested = CallEventOf<'retry.requested', RetryData>;

/** A behavior is to get an event again that it failed to handle. */
export type RedeliveryRequested = EventOf<'retry.requested', RetryData>;
