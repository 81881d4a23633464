/**
 * Calls as they are listed, newest first, read a page at a time and kept true while more arrive.
 *
 * 1. No call stands in it twice, and their order is the server's.
 * 2. What the head of the list says now counts for everything down to its last row.
 */
import type { CallPage } from '../../../../src/http/api/call.ts';
import type { CallSummary } from '../../../../src/ledger/call-query.ts';

export type CallList = {
  readonly rows: readonly CallSummary[];
  /** The cursor of what follows; undefined at the end. */
  readonly next: string | undefined;
  /** How far back a search has come. */
  readonly searchedTo: number | undefined;
};

export const noCalls: CallList = { rows: [], next: undefined, searchedTo: undefined };

export const callKey = ({ sessionId, callId }: Pick<CallSummary, 'sessionId' | 'callId'>): string =>
  JSON.stringify([sessionId, callId]);

/** The next page, at the end. */
export function appendPage(list: CallList, page: CallPage): CallList {
  return { ...take(page), rows: [...list.rows, ...without(page.rows, list.rows)] };
}

/** The first page as it is now. */
export function renewHead(list: CallList, page: CallPage): CallList {
  // A search that stopped early says nothing about what lies further back.
  if (page.searchedTo !== undefined && list.rows.length + (list.searchedTo ?? 0) > 0)
    return { ...list, rows: [...page.rows, ...without(list.rows, page.rows)] };
  const last = page.rows.at(-1);
  const joint = last === undefined ? -1 : findIndex(list.rows, callKey(last));
  // Everything is on this page, or so much is new that the pages do not touch: then what was below is read again.
  if (page.next === undefined || joint === -1) return take(page);
  return { ...list, rows: [...page.rows, ...without(list.rows.slice(joint + 1), page.rows)] };
}

/** How many calls of a first page are not in the list yet. */
export const countNew = (list: CallList, page: CallPage): number => without(page.rows, list.rows).length;

/** One call as it is now, where it stands. */
export function replaceCall(list: CallList, call: CallSummary): CallList {
  const at = findIndex(list.rows, callKey(call));
  return at === -1 ? list : { ...list, rows: list.rows.with(at, call) };
}

const take = ({ rows, next, searchedTo }: CallPage): CallList => ({ rows, next, searchedTo });

const findIndex = (rows: readonly CallSummary[], key: string): number =>
  rows.findIndex((row) => callKey(row) === key);

function without(rows: readonly CallSummary[], others: readonly CallSummary[]): readonly CallSummary[] {
  const keys = new Set(others.map(callKey));
  return rows.filter((row) => !keys.has(callKey(row)));
}
