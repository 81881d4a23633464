/** The secret of a sign-in, in a cookie or a credentials file: `qs_<id>.<random>`. */
import { randomBytes } from 'node:crypto';

const prefix = 'qs_';

export const newSignInSecret = (signInId: string): string =>
  `${prefix}${signInId}.${randomBytes(32).toString('base64url')}`;

export const isSignInSecret = (secret: string): boolean => secret.startsWith(prefix);

export const signInIdOf = (secret: string): string => secret.slice(prefix.length).split('.', 1)[0] ?? '';
