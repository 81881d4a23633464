import { describe, expect, test } from 'vitest';
import { eventsOf, makeEntries, stories } from '../../../../test/make-ledger.ts';
import type { Story } from '../../../../test/make-ledger.ts';
import type { Call } from '../call/call.ts';
import { foldCall } from '../call/evolve.ts';
import { toCallSummary } from './listed-call.ts';
import { countCall, countEvent, newSessionTally } from './call-tally.ts';

const callOf = (story: Story, drop = 0): Call => {
  const events = eventsOf(makeEntries([{ session: 's', call: 'c', story }]), 'c');
  return foldCall(events.slice(0, events.length - drop)) as Call;
};

describe('one line about a call', () => {
  test('one line about a call that succeeded', () => {
    expect(toCallSummary(callOf('write'))).toEqual({
      sessionId: 's',
      callId: 'c',
      turnId: 't-s',
      toolName: 'send_mail',
      mode: 'external',
      modeOrigin: 'declared',
      status: 'settled',
      outcome: 'ToolExecutionResult',
      reason: undefined,
      code: undefined,
      message: undefined,
      inputDigest: `sha256:${'ab'.repeat(32)}`,
      attempts: 1,
      unresolved: false,
      requestedAt: 1_790_000_000_000,
      settledAt: 1_790_000_000_010,
      elapsedMs: 5,
      costMicros: 10,
      userId: 'ada',
      args: { name: 'Effective c' },
    });
  });

  test('one line about a call that was made for a user whose name is not a string', () => {
    const call = callOf('write');
    const odd = { ...call, principal: { userId: 5 } } as unknown as Call;
    expect(toCallSummary(odd)).toEqual({ ...toCallSummary(call), userId: undefined });
  });

  test.each<[Story, object]>([
    [
      'denied',
      { outcome: 'ToolDenied', reason: 'pre_hook', code: 'policy.hook', message: 'Not c.', attempts: 0 },
    ],
    [
      'withdrawn',
      { outcome: 'ToolDenied', reason: 'ended', message: 'The turn has ended.', elapsedMs: undefined },
    ],
    [
      'failure',
      { outcome: 'ToolFailure', code: 'tool.network_error', message: 'No route.', unresolved: true },
    ],
    ['artifact', { outcome: 'ToolArtifactReference', message: undefined, unresolved: false }],
    [
      'open',
      { status: 'running', outcome: undefined, settledAt: undefined, costMicros: 0, unresolved: false },
    ],
    ['unknown', { code: 'tool.unknown', attempts: 0, unresolved: false }],
  ])('one line about a call that ended as %s', (story, expected) => {
    expect(toCallSummary(callOf(story))).toMatchObject(expected);
  });

  test('one line about a call that timed out is unresolved until its late result or a resolution', () => {
    expect(toCallSummary(callOf('timeout', 2))).toMatchObject({
      unresolved: true,
      message: expect.stringContaining('did not finish') as string,
    });
    expect(toCallSummary(callOf('timeout', 1)).unresolved).toBe(false);
    expect(toCallSummary(callOf('timeout')).unresolved).toBe(false);
    const late = callOf('timeout', 1);
    const threw = late.late.map((event) => ({ ...event, result: { type: 'threw' as const, error: 'x' } }));
    expect(toCallSummary({ ...late, late: threw }).unresolved).toBe(true);
  });

  test('never has a long message or half a character', () => {
    const call = callOf('failure');
    for (const error of ['x'.repeat(10_000), '😀'.repeat(1_000), `x${'😀'.repeat(1_000)}`]) {
      const settled = { ...call.settled, outcome: { ...call.settled?.outcome, error } } as Call['settled'];
      const { message = '' } = toCallSummary({ ...call, settled } as Call);
      expect(message.length).toBeLessThanOrEqual(200);
      expect(message.isWellFormed()).toBe(true);
      expect(message).toMatch(/…$/);
    }
  });
});

test('a session counts its calls as they are now, however often they changed', () => {
  const plans = (Object.keys(stories) as Story[]).map((story) => ({ session: 's', call: story, story }));
  const entries = makeEntries(plans);
  const tally = newSessionTally('s');
  const known = new Map<string, Call>();
  for (const { events } of entries)
    for (const event of events) {
      countEvent(tally, event.at);
      if (!('callId' in event)) continue;
      const before = known.get(event.callId);
      const after = foldCall([event], before) as Call;
      if (before !== undefined) countCall(tally, toCallSummary(before), -1);
      countCall(tally, toCallSummary(after));
      known.set(event.callId, after);
    }
  expect(tally).toEqual({
    sessionId: 's',
    calls: 17,
    openCalls: 1,
    failures: 3,
    denials: 4,
    unresolved: 1,
    firstAt: 1_790_000_000_000,
    lastAt: entries.at(-1)?.events.at(-1)?.at,
  });
});
