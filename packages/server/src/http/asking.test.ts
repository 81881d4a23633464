import { expect, test } from 'vitest';
import { Asking } from './asking.ts';

const never = new AbortController().signal;

test('all waiters get an answer, and so do later ones', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  let ends = 0;
  const asking = new Asking(promise, () => ends++);
  const waiting = [asking.whenAnswered(never), asking.whenAnswered(never)];
  expect([asking.answer, ends]).toEqual([undefined, 0]);
  resolve('yes');
  await Promise.all(waiting);
  expect(asking.answer).toBe('yes');
  await asking.whenAnswered(never);
  await expect.poll(() => ends).toBe(1);
});

test('all waiters get a failure, and so do later ones', async () => {
  const { promise, reject } = Promise.withResolvers<string>();
  const asking = new Asking(promise, () => undefined);
  const waiting = asking.whenAnswered(never);
  reject(new Error('no'));
  await expect(waiting).rejects.toThrow('no');
  await expect(asking.whenAnswered(never)).rejects.toThrow('no');
});

test('a waiter that stops is removed, and the others stay', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const asking = new Asking(promise, () => undefined);
  const stop = new AbortController();
  const [gone, stays] = [asking.whenAnswered(stop.signal), asking.whenAnswered(never)];
  stop.abort();
  await gone;
  expect(asking.answer).toBeUndefined();
  resolve('yes');
  await stays;
});
