import type { ToolOutcome } from '../../call/outcome.ts';

/** A note for the model about a result that the ledger could not store at first. */
export const spillNotice =
  'The ledger could not be written; this result is kept beside it and will be written when it works again.';

/** The outcome with one more note for the model. */
export const withNote = (outcome: ToolOutcome, note: string): ToolOutcome =>
  Object.freeze({
    ...outcome,
    modelNote: outcome.modelNote === undefined ? note : `${outcome.modelNote} ${note}`,
  });
