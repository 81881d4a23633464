import { hash } from 'node:crypto';

/**
 * What the chained text holds of the bodies: enough to prove them unchanged, of no use for guessing them once the
 * salt is erased with them. A salt is base64url and bodies begin with a bracket, so neither can run into the other.
 */
export const bodiesDigest = (salt: string, bodies: string): string =>
  `sha256:${hash('sha256', salt + bodies, 'hex')}`;
