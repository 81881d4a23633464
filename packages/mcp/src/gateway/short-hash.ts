import { hash } from 'node:crypto';

/** Stands for a text of unknown length and form in an id. */
export const shortHash = (text: string): string => hash('sha256', text, 'hex').slice(0, 24);
