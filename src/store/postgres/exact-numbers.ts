/**
 * The first column of a statement that reads counters. A database may be set to shorten numbers. This sets it back until
 * the end of the transaction, before a row becomes text.
 */
export const exactNumbers = `set_config('extra_float_digits', '1', true) AS digits`;
