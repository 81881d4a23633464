import { QuittanceError } from './error.ts';
import { describeUnknownName } from './nearest.ts';

/** A misspelt option would switch something off in silence. `where`: as a sentence begins, e.g. "In createRuntime". */
export function checkKeys(where: string, given: object, known: readonly string[]): void {
  for (const key of Object.keys(given))
    if (!known.includes(key))
      throw new QuittanceError('config.invalid', `${where}: ${describeUnknownName('option', key, known)}`);
}
