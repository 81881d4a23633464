import type { ToolOutcome } from '../../call/outcome.ts';

/** A note for the model about a result that the ledger could not store at first. */
export const spillNotice =
  'The ledger could not be written. This result is stored separately and will be added to the ledger later.';

/** The outcome with one more note for the model. */
export const withNote = (outcome: ToolOutcome, note: string): ToolOutcome =>
  Object.freeze({
    ...outcome,
    modelNote: outcome.modelNote === undefined ? note : `${outcome.modelNote} ${note}`,
  });
