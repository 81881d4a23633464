import type { EventDataOf } from '../../call/event-data.ts';
import type { ToolOutcome } from '../../call/outcome.ts';

/** The record of an attempt without its outcome. */
export type AttemptRecord = Pick<
  EventDataOf<'tool.responded'>,
  'costMicros' | 'reached' | 'log' | 'payloadExtras'
>;

/** The end of a body that neither the ledger nor the spill file could store. */
export type UnkeptEnd = {
  /** The outcome that the caller got. */
  readonly reply: ToolOutcome;
  /** Tries again to store it. Leaves the call unchanged if the ledger still fails. */
  readonly settle: () => Promise<void>;
};
