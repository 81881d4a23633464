/**
 * One finding of `quittance doctor`. Everything that is not fine says what to do. A note is about a part that the set-up
 * may not need: it is shown, and never fails the check.
 */
export type Finding =
  | { readonly level: 'ok'; readonly check: string; readonly message: string }
  | {
      readonly level: 'note' | 'warning' | 'problem';
      readonly check: string;
      readonly message: string;
      readonly remedy: string;
    };

/** `1 call`, `2 calls`. */
export const countOf = (number: number, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`;

export const fine = (check: string, message: string): Finding => ({ level: 'ok', check, message });
export const note = (check: string, message: string, remedy: string): Finding => ({
  level: 'note',
  check,
  message,
  remedy,
});
export const warning = (check: string, message: string, remedy: string): Finding => ({
  level: 'warning',
  check,
  message,
  remedy,
});
export const problem = (check: string, message: string, remedy: string): Finding => ({
  level: 'problem',
  check,
  message,
  remedy,
});
