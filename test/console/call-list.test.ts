import type { CallPage } from '@quittance/server';
import { describe, expect, test } from 'vitest';
import {
  appendCallPage,
  countNew,
  noCalls,
  renewHead,
  replaceCall,
} from '../../packages/console/src/pages/calls/call-list.ts';
import type { CallSummary } from '../../packages/quittance/src/ledger/call-query.ts';

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
  ruleId: undefined,
  args: undefined,
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

  test('adds new calls at its top and keeps the rest', () => {
    const renewed = renewHead(list, page([11, 10, 9], 'after 9'));
    expect(ids(renewed)).toEqual([11, 10, 9, 8, 7, 6, 5]);
    expect(renewed.next).toBe('after 5');
  });

  test('drops calls that no longer match, as far down as the new head reaches', () => {
    expect(ids(renewHead(list, page([10, 9, 7], 'after 7')))).toEqual([10, 9, 7, 6, 5]);
  });

  test('is read again if more arrived than fit on a page', () => {
    const renewed = renewHead(list, page([30, 29, 28], 'after 28'));
    expect(ids(renewed)).toEqual([30, 29, 28]);
    expect(renewed.next).toBe('after 28');
  });

  test('is the page if the page is complete', () => {
    expect(ids(renewHead(list, page([9])))).toEqual([9]);
    expect(ids(renewHead(list, page([])))).toEqual([]);
  });

  test('keeps results of a search further back when its head is read again', () => {
    const found = appendCallPage(renewHead(noCalls, page([], 'a', 900)), page([40], 'b', 30));
    const renewed = renewHead(found, page([950], 'c', 901));
    expect(ids(renewed)).toEqual([950, 40]);
    expect(renewed.next).toBe('b');
    // Even without results so far, it does not start again.
    expect(renewHead(renewHead(noCalls, page([], 'a', 900)), page([], 'z', 905)).next).toBe('a');
  });

  test('counts new calls without moving anything', () => {
    expect(countNew(list, page([11, 10, 9], 'x'))).toBe(2);
  });

  test('updates a call in its place', () => {
    const changed = replaceCall(list, call(6, { outcome: 'ToolFailure' }));
    expect(changed.rows[3]?.outcome).toBe('ToolFailure');
    expect(replaceCall(list, call(99))).toBe(list);
    // An id belongs to its session only.
    expect(replaceCall(list, call(6, { sessionId: 'other' }))).toBe(list);
  });
});
