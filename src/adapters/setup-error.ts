import { QuittanceError } from '../base/error.ts';

/**
 * A call that cannot be made because of how the program is set up, in a framework that tells the model what a tool
 * throws. So the message says what happened, and the cause says what the developer has to change.
 */
export const setupError = (
  happened: string,
  developer: string,
  details: Readonly<Record<string, string>> = {},
): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `${happened} Nothing ran. Only the program that runs the agent can correct this.`,
    details,
    new Error(developer),
  );
