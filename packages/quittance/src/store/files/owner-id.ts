import { randomBytes } from 'node:crypto';

/** An id from elsewhere becomes a path only if it looks like one of ours. */
export const ownerPattern: RegExp = /^own_[0-9a-f]{24}$/;

export const newOwnerId = (): string => `own_${randomBytes(12).toString('hex')}`;
