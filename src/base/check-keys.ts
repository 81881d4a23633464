import { QuittanceError } from './error.ts';
import { describeUnknownName } from './nearest.ts';

/**
 * Rejects unknown options, because a misspelt option would silently have no effect. `where`: start of the sentence,
 * e.g. "In createRuntime".
 */
export function checkKeys(where: string, given: object, known: readonly string[]): void {
  for (const key of Object.keys(given))
    if (!known.includes(key))
      throw new QuittanceError('config.invalid', `${where}: ${describeUnknownName('option', key, known)}`);
}
