import { describe, expect, test } from 'vitest';
import type { HandoffClaim } from '../runtime/claim-handoff.ts';
import { AskedCalls } from './asked-calls.ts';

const claimOf = (callId: string, note = ''): HandoffClaim =>
  ({ sessionId: 's1', callId, arguments: { note }, expiresAt: 1_000 }) as unknown as HandoffClaim; // all that is looked at

function hand(calls: AskedCalls, callId: string, note?: string): void {
  calls.note('s1', callId, 'digest');
  calls.noteClaim(claimOf(callId, note), 'ada');
}

describe('what was handed to somebody', () => {
  test('is handed to the same one again while it is good, and to nobody else', () => {
    const calls = new AskedCalls();
    hand(calls, 'c1', 'x');
    expect(calls.claimOf('s1', 'c1', 'ada', 999)).toEqual(claimOf('c1', 'x'));
    expect(calls.claimOf('s1', 'c1', 'bob', 999)).toBeUndefined();
    expect(calls.claimOf('s1', 'c1', 'ada', 1_000)).toBeUndefined();
  });

  test('is forgotten once it is reported, and the request it was for is not', () => {
    const calls = new AskedCalls();
    hand(calls, 'c1');
    calls.noteReport('s1', 'c1');
    expect(calls.claimOf('s1', 'c1', 'ada', 0)).toBeUndefined();
    expect(calls.isSame('s1', 'c1', 'digest')).toBe(true);
  });

  test('does not pile up where nobody reports: the oldest arguments go first', () => {
    const calls = new AskedCalls();
    const large = 'x'.repeat(1_000_000);
    for (let n = 0; n < 100; n++) hand(calls, `c${n}`, large);
    const kept = Array.from({ length: 100 }, (_, n) => calls.claimOf('s1', `c${n}`, 'ada', 0)).filter(
      Boolean,
    );
    expect(kept.length).toBeGreaterThan(20);
    expect(kept.length).toBeLessThan(33);
    expect(calls.claimOf('s1', 'c99', 'ada', 0)).toBeDefined();
  });
});
