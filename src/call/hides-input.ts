import { isKeyedDigest } from '../base/canonical.ts';
import type { Call } from './call.ts';

/**
 * Is part of the arguments hidden, in the request or in the schema's result? `hidden` lists only paths of the
 * request; a default or a transform of the schema can add more. The digest of such an input is keyed.
 */
export const hidesInput = ({ hidden, inputDigest, requestDigest }: Call): boolean =>
  hidden.length > 0 || isKeyedDigest(inputDigest ?? requestDigest);
