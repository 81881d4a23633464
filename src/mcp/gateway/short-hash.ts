import { createHash } from 'node:crypto';

/** Stands for a text of unknown length and form in an id. */
export const shortHash = (text: string): string =>
  createHash('sha256').update(text, 'utf8').digest('hex').slice(0, 24);
