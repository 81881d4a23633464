import { expect, test } from 'vitest';
import type { AcceptedCall } from './accepted-call.ts';
import { ActiveCall } from './active-call.ts';
import { createActiveCalls } from './active-calls.ts';

const made = (callId: string): ActiveCall => new ActiveCall({ callId } as AcceptedCall); // only its identity counts

test('finds, lists and forgets one call, and several at a time, in any order', () => {
  const calls = createActiveCalls();
  const [a, b, c] = [made('a'), made('b'), made('c')];
  calls.set('a', a);
  calls.set('b', b);
  calls.set('c', c);
  expect([calls.get('a'), calls.get('b'), calls.has('c'), calls.has('d')]).toEqual([a, b, true, false]);
  expect([...calls.values()]).toEqual([a, b, c]);
  expect([calls.delete('a'), calls.delete('a'), calls.size]).toEqual([true, false, 2]);
  expect([calls.get('a'), calls.get('c')]).toEqual([undefined, c]);
  calls.set('a', a);
  expect([...calls.values()]).toHaveLength(3);
  expect([calls.delete('b'), calls.has('b'), calls.delete('c'), calls.delete('a')]).toEqual([
    true,
    false,
    true,
    true,
  ]);
  expect([calls.size, [...calls.values()]]).toEqual([0, []]);
});

test('replaces the call of a key', () => {
  const calls = createActiveCalls();
  const [first, second] = [made('a'), made('a')];
  calls.set('a', first);
  calls.set('a', second);
  expect([calls.get('a'), calls.size]).toEqual([second, 1]);
});
