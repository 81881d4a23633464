import { expect, test } from 'vitest';
import { observeRejection } from './tool.ts';

const fail = async (): Promise<string> => {
  await Promise.resolve();
  throw new Error('No funds.');
};

test('finds the error behind a text', async () => {
  const { result, rejection } = observeRejection(() => fail().catch(() => 'An error occurred.'));
  expect(await result).toBe('An error occurred.');
  expect(await rejection()).toEqual({ error: new Error('No funds.') });
});

test('the last handler counts, not one of the tool', async () => {
  const { result, rejection } = observeRejection(() => {
    void fail().catch(() => undefined);
    return Promise.resolve('paid').catch(() => 'An error occurred.');
  });
  expect(await result).toBe('paid');
  expect(await rejection()).toBeUndefined();
});

test('does not wait for a promise that never settles', async () => {
  const { rejection } = observeRejection(() => void new Promise(() => undefined).catch(() => undefined));
  expect(await rejection()).toBeUndefined();
});

test('leaves nothing behind, even if it throws', () => {
  const before = Object.getOwnPropertyDescriptor(Promise.prototype, 'catch');
  expect(() =>
    observeRejection(() => {
      throw new Error('at once');
    }),
  ).toThrow('at once');
  expect(Object.getOwnPropertyDescriptor(Promise.prototype, 'catch')).toEqual(before);
});

test('watches only the synchronous part of the start: later code finds the original method', async () => {
  const before = Object.getOwnPropertyDescriptor(Promise.prototype, 'catch');
  const seen: unknown[] = [];
  const look = (): void => void seen.push(Object.getOwnPropertyDescriptor(Promise.prototype, 'catch')?.value);
  const body = async (): Promise<string> => {
    look();
    await Promise.resolve();
    look();
    throw new Error('No funds.');
  };
  // Another call is running, with timers and microtasks.
  const other = Promise.resolve().then(look);
  setImmediate(look);
  const { result, rejection } = observeRejection(() => body().catch(() => 'An error occurred.'));
  look();
  await Promise.all([other, result]);
  expect(await rejection()).toEqual({ error: new Error('No funds.') });
  const [inside, ...outside] = seen;
  expect(inside).not.toBe(before?.value);
  expect(outside.length).toBeGreaterThan(2);
  expect(outside.every((found) => found === before?.value)).toBe(true);
});

test('watches nested starts separately, and undoes both', async () => {
  const before = Object.getOwnPropertyDescriptor(Promise.prototype, 'catch');
  const outer = observeRejection(() => {
    const inner = observeRejection(() => Promise.reject(new Error('inner')).catch(() => 'told'));
    return { inner, own: Promise.reject(new Error('outer')).catch(() => 'told') };
  });
  expect(Object.getOwnPropertyDescriptor(Promise.prototype, 'catch')).toEqual(before);
  expect(await outer.rejection()).toEqual({ error: new Error('outer') });
  expect(await outer.result.inner.rejection()).toEqual({ error: new Error('inner') });
});
