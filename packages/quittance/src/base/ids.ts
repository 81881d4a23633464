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

/** The last three digits of every count. Shared, because an id that is joined from two texts costs half the memory. */
const endings: readonly string[] = Array.from({ length: 1_000 }, (_, count) =>
  String(count).padStart(3, '0'),
);

/** Identifiers of one process: a random stem and a counter, so that the hot path makes no system call. */
export function createIds(): Ids {
  // The count begins after a letter, so that no two ids are equal whatever digits the stem ends with.
  const stem = `_${randomBytes(9).toString('base64url').replaceAll(/[-_]/g, '0')}n`;
  let thousands = 0;
  let rest = 0;
  /** The beginning of the next ids, by prefix. */
  const beginnings = new Map<string, string>();
  return {
    next(prefix) {
      if (rest === endings.length) {
        rest = 0;
        thousands++;
        beginnings.clear();
      }
      let beginning = beginnings.get(prefix);
      if (beginning === undefined) beginnings.set(prefix, (beginning = `${prefix}${stem}${thousands}`));
      return beginning + (endings[rest++] as string);
    },
    secret: (prefix) => `${prefix}_${randomUUID().replaceAll('-', '')}`,
  };
}

/**
 * Ids of sessions and calls occur in URLs, paths and exported file names. `.` and `..` mean a folder there, and no
 * encoding changes that: browsers and servers drop them. Such an id could never be reached.
 */
export const isDotSegment = (id: string): boolean => id === '.' || id === '..';
