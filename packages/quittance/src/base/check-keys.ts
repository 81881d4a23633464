import { QuittanceError } from './error.ts';
import { describeUnknownName } from './nearest.ts';

/**
 * Rejects unknown options, because a misspelt option would silently have no effect. `where`: start of the sentence,
 * e.g. "In createRuntime".
 */
export function checkKeys(where: string, given: object, known: readonly string[]): void {
  checkObject(where, given);
  for (const key of Object.keys(given))
    if (!known.includes(key))
      throw new QuittanceError('config.invalid', `${where}: ${describeUnknownName('option', key, known)}`);
}

/** Rejects options that are not an object, because a program without types can pass null or a text. */
export function checkObject(where: string, given: unknown): void {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return;
  const found = given === null ? 'null' : Array.isArray(given) ? 'an array' : `a ${typeof given}`;
  throw new QuittanceError('config.invalid', `${where} takes an object, found ${found}.`);
}
