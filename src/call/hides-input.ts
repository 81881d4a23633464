import { isKeyedDigest } from '../base/canonical.ts';
import type { Call } from './call.ts';

/**
 * Is something of the arguments hidden, as they were requested or as the schema made them? `hidden` lists places of the
 * request alone; a default or a transform of the schema can add more. The digest of such an input is keyed.
 */
export const hidesInput = ({ hidden, inputDigest, requestDigest }: Call): boolean =>
  hidden.length > 0 || isKeyedDigest(inputDigest ?? requestDigest);
