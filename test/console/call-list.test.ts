import type { CallPage } from 'quittance/http';
import { describe, expect, test } from 'vitest';
import {
  appendCallPage,
  countNew,
  noCalls,
  renewHead,
  replaceCall,
} from '../../console/src/pages/calls/call-list.ts';
import type { CallSummary } from '../../src/ledger/call-query.ts';

const call = (n: number, more: Partial<CallSummary> = {}): CallSummary => ({
  sessionId: 's1',
  callId: `call_${n}`,
  turnId: 't1',
  toolName: 'refund',
  mode: 'external',
  modeOrigin: 'declared',
  status: 'settled',
  outcome: 'ToolExecutionResult',
  reason: undefined,
  code: undefined,
  message: undefined,
  inputDigest: undefined,
  attempts: 1,
  unresolved: false,
  requestedAt: n,
  settledAt: n,
  elapsedMs: 1,
  costMicros: 0,
  userId: undefined,
  ...more,
});
const page = (ns: readonly number[], next?: string, searchedTo?: number): CallPage => ({
  rows: ns.map((n) => call(n)),
  next,
  searchedTo,
});
const ids = (list: { readonly rows: readonly CallSummary[] }): readonly number[] =>
  list.rows.map(({ requestedAt }) => requestedAt);

describe('a list of calls', () => {
  const list = appendCallPage(renewHead(noCalls, page([9, 8, 7], 'after 7')), page([6, 5], 'after 5'));

  test('grows at its end, page by page, and shows no call twice', () => {
    expect(ids(list)).toEqual([9, 8, 7, 6, 5]);
    expect(ids(appendCallPage(list, page([5, 4])))).toEqual([9, 8, 7, 6, 5, 4]);
    expect(appendCallPage(list, page([4])).next).toBeUndefined();
  });

  test('takes new calls at its top and keeps what was read below', () => {
    const renewed = renewHead(list, page([11, 10, 9], 'after 9'));
    expect(ids(renewed)).toEqual([11, 10, 9, 8, 7, 6, 5]);
    expect(renewed.next).toBe('after 5');
  });

  test('drops calls that no longer fit, as far down as the new head tells', () => {
    expect(ids(renewHead(list, page([10, 9, 7], 'after 7')))).toEqual([10, 9, 7, 6, 5]);
  });

  test('is read anew where more arrived than fits a page', () => {
    const renewed = renewHead(list, page([30, 29, 28], 'after 28'));
    expect(ids(renewed)).toEqual([30, 29, 28]);
    expect(renewed.next).toBe('after 28');
  });

  test('is the page where the page is all there is', () => {
    expect(ids(renewHead(list, page([9])))).toEqual([9]);
    expect(ids(renewHead(list, page([])))).toEqual([]);
  });

  test('keeps what a search found further back when its head is read again', () => {
    const found = appendCallPage(renewHead(noCalls, page([], 'a', 900)), page([40], 'b', 30));
    const renewed = renewHead(found, page([950], 'c', 901));
    expect(ids(renewed)).toEqual([950, 40]);
    expect(renewed.next).toBe('b');
    // Even where it found nothing yet, it does not begin again.
    expect(renewHead(renewHead(noCalls, page([], 'a', 900)), page([], 'z', 905)).next).toBe('a');
  });

  test('counts what is new without moving anything', () => {
    expect(countNew(list, page([11, 10, 9], 'x'))).toBe(2);
  });

  test('shows a call as it is now where it stands', () => {
    const changed = replaceCall(list, call(6, { outcome: 'ToolFailure' }));
    expect(changed.rows[3]?.outcome).toBe('ToolFailure');
    expect(replaceCall(list, call(99))).toBe(list);
    // An id is of its session only.
    expect(replaceCall(list, call(6, { sessionId: 'other' }))).toBe(list);
  });
});
