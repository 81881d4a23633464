import type { LargeCallRef } from '@quittance/server/internal/http/api/confirmation';

/** A list read page by page, newest first. Its first page is read again from time to time. */
export type PageOf<Row> = {
  readonly rows: readonly Row[];
  readonly next: string | undefined;
  /** How far back a search has read that is not finished. */
  readonly searchedTo?: number | undefined;
  /** Calls missing from the first page because they are too large to send. */
  readonly large?: readonly LargeCallRef[];
  /** Large calls missing from the following pages. */
  readonly largeAfter?: readonly LargeCallRef[];
};

/**
 * Replaces the start of the list with the newest first page. If the new page does not overlap the old rows, rows
 * between them are unknown. The rest is then loaded again on demand.
 */
export function mergePages<Row>(
  before: PageOf<Row>,
  fresh: PageOf<Row>,
  keyOf: (row: Row) => string,
): PageOf<Row> {
  // A search that stopped early says nothing about older rows.
  if (fresh.searchedTo !== undefined) {
    const known = new Set(fresh.rows.map(keyOf));
    return { ...before, rows: [...fresh.rows, ...before.rows.filter((row) => !known.has(keyOf(row)))] };
  }
  const last = fresh.rows.at(-1);
  if (fresh.next === undefined || last === undefined) return fresh;
  const lastKey = keyOf(last);
  const at = before.rows.findIndex((row) => keyOf(row) === lastKey);
  if (at === -1) return fresh;
  return {
    rows: [...fresh.rows, ...before.rows.slice(at + 1)],
    next: before.next,
    ...(before.searchedTo !== undefined && { searchedTo: before.searchedTo }),
    ...(fresh.large !== undefined && { large: fresh.large }),
    ...(before.largeAfter !== undefined && { largeAfter: before.largeAfter }),
  };
}

/** Appends the next page. A row that moved between the two requests appears only once. */
export function appendPage<Row>(
  before: PageOf<Row>,
  more: PageOf<Row>,
  keyOf: (row: Row) => string,
): PageOf<Row> {
  const known = new Set(before.rows.map(keyOf));
  return {
    rows: [...before.rows, ...more.rows.filter((row) => !known.has(keyOf(row)))],
    next: more.next,
    ...(more.searchedTo !== undefined && { searchedTo: more.searchedTo }),
    ...(before.large !== undefined && { large: before.large }),
    ...((before.largeAfter ?? more.large) !== undefined && {
      largeAfter: [...(before.largeAfter ?? []), ...(more.large ?? [])],
    }),
  };
}
