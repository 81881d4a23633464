import { expect, test } from 'vitest';
import type { Listener } from './later.ts';
import { Later } from './later.ts';

const record = (into: unknown[]): Listener<number> => ({
  onValue: (value) => into.push(value),
  onError: (error) => into.push({ error }),
});

test('the listener gets the first end, once', () => {
  const later = new Later<number>();
  const told: unknown[] = [];
  later.tell(record(told));
  expect(told).toEqual([]);
  later.resolve(1);
  later.resolve(2);
  later.reject('late');
  expect(told).toEqual([1]);
});

test('a listener that comes after the end gets it at once', () => {
  const [came, failed] = [new Later<number>(), new Later<number>()];
  came.resolve(1);
  failed.reject('no');
  const told: unknown[] = [];
  came.tell(record(told));
  failed.tell(record(told));
  expect(told).toEqual([1, { error: 'no' }]);
});

test('it waits for a promise, and can be awaited like one', async () => {
  const later = new Later<number>();
  later.resolve(Promise.resolve(3));
  expect(await later).toBe(3);
  const failed = new Later<number>();
  failed.resolve(Promise.reject(new Error('no')));
  await expect(failed.then()).rejects.toThrow('no');
});

test('a second listener is a mistake', () => {
  const later = new Later<number>();
  later.tell(record([]));
  expect(() => later.tell(record([]))).toThrow('one listener');
});
