import { isKeyedDigest } from '../base/canonical.ts';
import { redacted } from '../base/secret-pattern.ts';
import type { Call } from './call.ts';

/**
 * True if part of the arguments is hidden, in the request or in the schema's result. `hidden` lists only paths of the
 * request; a default or a transform of the schema can add more. The digest of such an input is keyed.
 */
export const hidesInput = ({ hidden, inputDigest, requestDigest }: Call): boolean =>
  hidden.length > 0 || isKeyedDigest(inputDigest ?? requestDigest);

/** True if the stored form hides part of the facts that the caller added. */
export const hidesFacts = ({
  principal,
  provenance,
  attrs,
}: Pick<Call, 'principal' | 'provenance' | 'attrs'>): boolean =>
  (principal ?? provenance ?? attrs) !== undefined &&
  JSON.stringify([principal, provenance, attrs]).includes(redacted);
