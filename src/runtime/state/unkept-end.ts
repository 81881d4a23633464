import type { EventDataOf } from '../../call/event-data.ts';
import type { ToolOutcome } from '../../call/outcome.ts';

/** The record of an attempt, besides its outcome. */
export type AttemptRecord = Pick<
  EventDataOf<'tool.responded'>,
  'costMicros' | 'reached' | 'log' | 'payloadExtras'
>;

/** The end of a body that neither the ledger nor the spill could store. */
export type UnkeptEnd = {
  /** The outcome that the caller got. */
  readonly reply: ToolOutcome;
  /** Tries once more to store it. Leaves the call as it is where the ledger still fails. */
  readonly settle: () => Promise<void>;
};
