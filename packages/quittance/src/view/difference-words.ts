/** The words for a difference between two calls, in the console and in the terminal. */
import { isOutcomeType } from '../call/outcome.ts';
import { outcomeTypeLabels } from './outcome-words.ts';

/** The name of a compared field: `size_bytes` is "size bytes". */
export const differenceField = (field: string): string => field.replaceAll('_', ' ');

/** The word for an outcome that differs. Undefined for the values of all other fields, which are shown as they are. */
export const differenceWord = (field: string, value: unknown): string | undefined =>
  field === 'outcome' && typeof value === 'string' && isOutcomeType(value)
    ? outcomeTypeLabels[value]
    : undefined;
