/**
 * The list of calls, newest first, read page by page and updated as calls arrive.
 *
 * 1. Each call appears once, in the server's order.
 * 2. A new first page replaces every row down to its own last row.
 */
import type { CallPage } from '@quittance/server/internal/http/api/call';
import type { CallSummary } from 'quittance/internal/ledger/call-query';

export type CallList = {
  readonly rows: readonly CallSummary[];
  /** Cursor of the next page; undefined at the end. */
  readonly next: string | undefined;
  /** How far back the search has read. */
  readonly searchedTo: number | undefined;
};

export const noCalls: CallList = { rows: [], next: undefined, searchedTo: undefined };

export const rowKey = ({ sessionId, callId }: Pick<CallSummary, 'sessionId' | 'callId'>): string =>
  JSON.stringify([sessionId, callId]);

/** Appends the next page. */
export function appendCallPage(list: CallList, page: CallPage): CallList {
  return { ...take(page), rows: [...list.rows, ...without(page.rows, list.rows)] };
}

/** Replaces the head of the list with a new first page. */
export function renewHead(list: CallList, page: CallPage): CallList {
  // A search that stopped early says nothing about older calls.
  if (page.searchedTo !== undefined && list.rows.length + (list.searchedTo ?? 0) > 0)
    return { ...list, rows: [...page.rows, ...without(list.rows, page.rows)] };
  const last = page.rows.at(-1);
  const joint = last === undefined ? -1 : findIndex(list.rows, rowKey(last));
  // The page holds everything, or does not overlap the list: then the rest is loaded again.
  if (page.next === undefined || joint === -1) return take(page);
  return { ...list, rows: [...page.rows, ...without(list.rows.slice(joint + 1), page.rows)] };
}

/** Number of calls on a first page that are not yet in the list. */
export const countNew = (list: CallList, page: CallPage): number => without(page.rows, list.rows).length;

/** Updates one call in place. */
export function replaceCall(list: CallList, call: CallSummary): CallList {
  const at = findIndex(list.rows, rowKey(call));
  return at === -1 ? list : { ...list, rows: list.rows.with(at, call) };
}

const take = ({ rows, next, searchedTo }: CallPage): CallList => ({ rows, next, searchedTo });

const findIndex = (rows: readonly CallSummary[], key: string): number =>
  rows.findIndex((row) => rowKey(row) === key);

function without(rows: readonly CallSummary[], others: readonly CallSummary[]): readonly CallSummary[] {
  const keys = new Set(others.map(rowKey));
  return rows.filter((row) => !keys.has(rowKey(row)));
}
