import { expect, test } from 'vitest';
import { ChangeWaiters } from './until-woken.ts';

const call = { sessionId: 's', callId: 'c' };

/** Waits for another version of the call. `woken` gets the version that was waited with. */
const wait = (waiters: ChangeWaiters, version: number, woken: number[]): Promise<number> =>
  waiters.untilCall({ ...call, version }).then(() => woken.push(version));

test('an answer that was read before a caller began to wait does not wake it', async () => {
  const waiters = new ChangeWaiters();
  const woken: number[] = [];
  const first = wait(waiters, 1, woken);
  const [asked = []] = waiters.calls;
  const second = wait(waiters, 2, woken);
  waiters.tell(asked, 1);
  waiters.tell(asked, 2);
  await first;
  expect(woken).toEqual([1]);
  waiters.tellCall({ ...call, version: 3 });
  await second;
  expect(woken).toEqual([1, 2]);
  expect(waiters.isEmpty).toBe(true);
});

test('a caller whose signal aborts is no longer waited for, and a call that is gone wakes its waiters', async () => {
  const waiters = new ChangeWaiters();
  const leaving = new AbortController();
  const left = waiters.untilCall({ ...call, version: 1 }, leaving.signal);
  leaving.abort();
  await left;
  expect(waiters.isEmpty).toBe(true);
  const gone = waiters.untilCall({ ...call, version: 1 });
  waiters.tell(waiters.calls[0] ?? [], 0);
  await gone;
  const end = waiters.untilAfter(5);
  waiters.tellEnd(5);
  expect(waiters.hasEnds).toBe(true);
  waiters.tellEnd(6);
  await end;
});
