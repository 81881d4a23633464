import { QuittanceError } from '../base/error.ts';

/** The error for a text that is not a valid cassette. */
export const invalidCassette = (
  problem: string,
  facts: Readonly<Record<string, string>> = {},
  cause?: unknown,
): QuittanceError =>
  new QuittanceError('cassette.invalid', `This cassette cannot be played: ${problem}.`, facts, cause);
