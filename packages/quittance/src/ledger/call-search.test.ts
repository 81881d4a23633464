import { describe, expect, test } from 'vitest';
import type { CallQuery, CallSummary } from './call-query.ts';
import { callMatcher, matchesText } from './call-search.ts';

const call: CallSummary = {
  sessionId: 's',
  callId: 'call_7',
  turnId: 't',
  toolName: 'Refund',
  mode: 'external',
  modeOrigin: 'declared',
  status: 'settled',
  outcome: 'ToolFailure',
  reason: undefined,
  code: 'tool.timeout',
  message: 'Ärger with the BANK',
  inputDigest: 'd',
  attempts: 1,
  unresolved: true,
  requestedAt: 100,
  settledAt: 110,
  elapsedMs: 10,
  costMicros: 0,
  userId: undefined,
  ruleId: undefined,
  args: undefined,
};

describe('a call matches a query', () => {
  const held: readonly CallQuery[] = [
    {},
    { sessionId: 's', toolName: 'Refund', mode: 'external', status: 'settled', outcome: 'ToolFailure' },
    { code: 'tool.timeout', unresolved: true },
    { since: 100, until: 101 },
    { text: 'CALL_' },
    { text: 'refund' },
    { text: 'TIMEOUT' },
    { text: 'bank' },
    { text: 'ÄRGER with' },
  ];
  test.each(held)('if all given fields match: %j', (query) => {
    expect(callMatcher(query)(call) && matchesText(call, undefined, query)).toBe(true);
  });

  const not: readonly CallQuery[] = [
    { sessionId: 'S' },
    { toolName: 'refund' },
    { mode: 'read' },
    { status: 'held' },
    { outcome: 'ToolTimeout' },
    { code: 'tool.network_error' },
    { unresolved: false },
    { since: 101 },
    { until: 100 },
    { text: 'nowhere' },
    { text: 'ank' }, // the middle of a word
    { text: '…' },
    { sessionId: 's', text: 'nowhere' },
  ];
  test.each(not)('a call matches a query and not if one field does not: %j', (query) => {
    expect(callMatcher(query)(call) && matchesText(call, undefined, query)).toBe(false);
  });
});
