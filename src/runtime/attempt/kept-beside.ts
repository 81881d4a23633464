/** Said to the model of a result that the ledger could not take when it came. */
export const keptBeside =
  'The ledger could not be written; this result is kept beside it and will be written when it works again.';
