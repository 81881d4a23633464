import { hash } from 'node:crypto';

/**
 * The digest of the bodies in the chained text. It proves them unchanged, but is useless for guessing them once the
 * salt is erased. A salt is base64url and bodies start with a bracket, so the two cannot be confused.
 */
export const bodiesDigest = (salt: string, bodies: string): string =>
  `sha256:${hash('sha256', salt + bodies, 'hex')}`;
