import type { LargeCallRef } from '../../../src/http/api/confirmation.ts';

/** A list that is read a page at a time, newest first, and whose first page is read again now and then. */
export type PageOf<Row> = {
  readonly rows: readonly Row[];
  readonly next: string | undefined;
  /** Calls left out of the first page because they are too large to be sent. */
  readonly large?: readonly LargeCallRef[];
  /** The same of the pages after it. */
  readonly largeAfter?: readonly LargeCallRef[];
};

/**
 * What was read before, with its beginning as it is now. Where the new page does not reach what was read before, the
 * rows between are not known, and the rest is read again when somebody goes there.
 */
export function mergePages<Row>(
  before: PageOf<Row>,
  fresh: PageOf<Row>,
  keyOf: (row: Row) => string,
): PageOf<Row> {
  const last = fresh.rows.at(-1);
  if (fresh.next === undefined || last === undefined) return fresh;
  const lastKey = keyOf(last);
  const at = before.rows.findIndex((row) => keyOf(row) === lastKey);
  if (at === -1) return fresh;
  return {
    rows: [...fresh.rows, ...before.rows.slice(at + 1)],
    next: before.next,
    ...(fresh.large !== undefined && { large: fresh.large }),
    ...(before.largeAfter !== undefined && { largeAfter: before.largeAfter }),
  };
}

/** The page after what was read before. A row that moved between the two is there once. */
export function appendPage<Row>(
  before: PageOf<Row>,
  more: PageOf<Row>,
  keyOf: (row: Row) => string,
): PageOf<Row> {
  const known = new Set(before.rows.map(keyOf));
  return {
    rows: [...before.rows, ...more.rows.filter((row) => !known.has(keyOf(row)))],
    next: more.next,
    ...(before.large !== undefined && { large: before.large }),
    ...((before.largeAfter ?? more.large) !== undefined && {
      largeAfter: [...(before.largeAfter ?? []), ...(more.large ?? [])],
    }),
  };
}
