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
  // The count begins after a letter, so that no two ids are equal whatever digits the stem ends with.
  const stem = `_${randomBytes(9).toString('base64url').replaceAll(/[-_]/g, '0')}n`;
  let count = 0;
  const stems = new Map<string, string>();
  return {
    next(prefix) {
      let whole = stems.get(prefix);
      if (whole === undefined) stems.set(prefix, (whole = prefix + stem));
      return whole + String(count++);
    },
    secret: (prefix) => `${prefix}_${randomUUID().replaceAll('-', '')}`,
  };
}
