import { expect, test } from 'vitest';
import { AskedCalls } from './asked-calls.ts';

test('the request of a call is known, and the oldest is forgotten', () => {
  const calls = new AskedCalls();
  for (let n = 0; n <= 10_000; n++) calls.note('s1', `c${n}`, 'digest');
  expect(calls.isSame('s1', 'c10000', 'digest')).toBe(true);
  expect(calls.isSame('s1', 'c10000', 'other')).toBe(false);
  expect(calls.isSame('s1', 'c0', 'digest')).toBeUndefined();
});
