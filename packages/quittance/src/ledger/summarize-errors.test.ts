import { createMemoryLedger } from '../store/memory/memory-ledger.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';
import { describe, expect, test } from 'vitest';
import type { CallQuery, CallSummary } from './call-query.ts';
import { callMatcher } from './call-search.ts';
import { summarizeErrors } from './summarize-errors.ts';
import type { OpenLedger } from './ledger.ts';

const call = (callId: string, code: string, changes: Partial<CallSummary> = {}): CallSummary => ({
  sessionId: 's1',
  callId,
  turnId: 't1',
  toolName: 'send',
  mode: 'external',
  modeOrigin: 'declared',
  status: 'settled',
  outcome: 'ToolFailure',
  reason: undefined,
  code,
  message: `Because of ${callId}.`,
  inputDigest: undefined,
  attempts: 1,
  unresolved: false,
  requestedAt: 1_000,
  settledAt: 1_010,
  elapsedMs: 10,
  costMicros: 0,
  userId: undefined,
  ruleId: undefined,
  args: undefined,
  ...changes,
});

/** Pages of two rows, so that there are several. */
const ledgerOf = (
  calls: readonly CallSummary[],
): { readonly asked: CallQuery[]; readonly query: OpenLedger['query'] } => {
  const asked: CallQuery[] = [];
  const altered = alterLedger(createMemoryLedger(), {
    rows: {
      async calls(wanted) {
        asked.push(wanted);
        const from = Number(wanted.cursor ?? 0);
        const found = calls.filter(callMatcher(wanted));
        return {
          rows: found.slice(from, from + 2),
          next: found.length > from + 2 ? String(from + 2) : undefined,
        };
      },
    },
  });
  return { asked, query: (name, query) => altered.query(name, query) };
};

describe('failures', () => {
  test('are grouped by who must act, in the order of the table, the most frequent code first', async () => {
    const groups = await summarizeErrors(
      ledgerOf([
        call('c1', 'tool.indeterminate', { unresolved: true }),
        call('c2', 'tool.network_error'),
        call('c3', 'tool.timeout', { outcome: 'ToolTimeout' }),
        call('c4', 'tool.network_error'),
        call('c5', 'policy.contract', { outcome: 'ToolDenied', reason: 'contract' }),
        call('c6', 'tool.network_error', { toolName: 'fetch' }),
      ]),
    );
    expect(groups.map(({ whoseMove, count }) => [whoseMove, count])).toEqual([
      ['retry', 4],
      ['your inputs', 1],
      ['a person', 1],
    ]);
    expect(groups[0]?.codes.map(({ code, count }) => [code, count])).toEqual([
      ['tool.network_error', 3],
      ['tool.timeout', 1],
    ]);
    expect(groups[0]?.codes[0]?.tools).toEqual([
      { toolName: 'send', count: 2 },
      { toolName: 'fetch', count: 1 },
    ]);
    expect(groups[2]?.codes[0]).toMatchObject({
      unresolved: 1,
      title: 'It is unknown whether the call took effect',
    });
  });

  test('are represented by the newest, with the times of the first and the last', async () => {
    const [group] = await summarizeErrors(
      ledgerOf([
        call('old', 'tool.timeout', { outcome: 'ToolTimeout', settledAt: 5 }),
        call('new', 'tool.timeout', { outcome: 'ToolTimeout', settledAt: 50 }),
        call('middle', 'tool.timeout', { outcome: 'ToolTimeout', settledAt: 20 }),
      ]),
    );
    expect(group?.codes[0]).toMatchObject({ firstAt: 5, lastAt: 50, count: 3, sample: { callId: 'new' } });
  });

  test('failures with a code of a newer version, or with the name of an object method, are in a separate group', async () => {
    const groups = await summarizeErrors(
      ledgerOf([call('c1', 'tool.from_the_future'), call('c2', 'constructor'), call('c3', '__proto__')]),
    );
    expect(groups).toMatchObject([{ whoseMove: 'unknown', count: 3 }]);
    expect(groups[0]?.codes.map(({ code, title }) => [code, title])).toEqual([
      ['__proto__', undefined],
      ['constructor', undefined],
      ['tool.from_the_future', undefined],
    ]);
  });

  test('are searched only among unsuccessful calls, with the given query', async () => {
    const ledger = ledgerOf([
      call('c1', 'tool.timeout', { outcome: 'ToolTimeout' }),
      call('c2', 'x', { outcome: 'ToolExecutionResult' }),
      call('c3', 'tool.timeout', { outcome: 'ToolTimeout', sessionId: 's2' }),
    ]);
    expect(await summarizeErrors(ledger, { sessionId: 's2' })).toMatchObject([{ count: 1 }]);
    expect(ledger.asked.map(({ outcome }) => outcome)).toEqual(['ToolFailure', 'ToolTimeout', 'ToolDenied']);
    expect(ledger.asked.every(({ sessionId }) => sessionId === 's2')).toBe(true);
  });

  test('found before an abort are returned', async () => {
    const stop = new AbortController();
    stop.abort();
    const many = Array.from({ length: 9 }, (_, index) => call(`c${index}`, 'tool.network_error'));
    expect(await summarizeErrors(ledgerOf(many), { signal: stop.signal })).toMatchObject([{ count: 2 }]);
  });
});

test('without failures nothing is listed', async () => {
  expect(await summarizeErrors(ledgerOf([]))).toEqual([]);
});
