/** Something that failed is to be tried again. */
import type { CallEventOf, EventOf } from './event-of.ts';

type RetryData = {
  /** The event that is answered by trying again: an attempt's end, or what a behavior failed to handle. */
  forEvent: string;
  /** The call that event tells of. */
  forCallId: string | undefined;
  /** Which attempt is asked for: 2 is the first one that is made again. */
  attempt: number;
  /** Not before this moment, by the ledger's clock; at once where undefined. */
  notBefore: number | undefined;
  /** The behavior that asks. */
  by: string;
  /** The behavior that is to be given the event again; undefined where it is the call that is tried again. */
  behavior: string | undefined;
};

/** The call is to be tried again: the same call, the same key, another attempt. */
export type RetryRequested = CallEventOf<'retry.requested', RetryData>;

/** A behavior is to be given an event again that it failed to handle. */
export type RedeliveryRequested = EventOf<'retry.requested', RetryData>;
