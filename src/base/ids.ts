import { randomBytes, randomUUID } from 'node:crypto';

/** The source of identifiers. Tests pass a counter. */
export interface Ids {
  /** Unique across processes, cheap, guessable: for events and entries. */
  next(prefix: string): string;
  /** Unique and not guessable: for confirmations and artifacts. */
  secret(prefix: string): string;
}

/** Makes the ids of events. */
export const eventIdsFrom =
  (ids: Ids): (() => string) =>
  () =>
    ids.next('evt');

/** Identifiers of one process: a random stem and a counter, so that the hot path makes no system call. */
export function createIds(): Ids {
  const stem = randomBytes(9).toString('base64url').replaceAll(/[-_]/g, '0');
  let count = 0;
  return {
    next: (prefix) => `${prefix}_${stem}${(count++).toString(36)}`,
    secret: (prefix) => `${prefix}_${randomUUID().replaceAll('-', '')}`,
  };
}
