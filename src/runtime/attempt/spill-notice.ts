import type { ToolOutcome } from '../../call/outcome.ts';

/** Said to the model of a result that the ledger could not take when it came. */
export const spillNotice =
  'The ledger could not be written; this result is kept beside it and will be written when it works again.';

/** The outcome with one more note for the model. */
export const withNote = (outcome: ToolOutcome, note: string): ToolOutcome =>
  Object.freeze({
    ...outcome,
    modelNote: outcome.modelNote === undefined ? note : `${outcome.modelNote} ${note}`,
  });
