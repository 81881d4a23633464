import { expect, test } from 'vitest';
import { observeRejection } from './observed-rejection.ts';

const fail = async (): Promise<string> => {
  await Promise.resolve();
  throw new Error('No funds.');
};

test('the error behind a text is found', async () => {
  const { result, rejection } = observeRejection(() => fail().catch(() => 'An error occurred.'));
  expect(await result).toBe('An error occurred.');
  expect(await rejection()).toEqual({ error: new Error('No funds.') });
});

test('the last handler counts, not one of the body', async () => {
  const { result, rejection } = observeRejection(() => {
    void fail().catch(() => undefined);
    return Promise.resolve('paid').catch(() => 'An error occurred.');
  });
  expect(await result).toBe('paid');
  expect(await rejection()).toBeUndefined();
});

test('a promise that never settles is not waited for', async () => {
  const { rejection } = observeRejection(() => void new Promise(() => undefined).catch(() => undefined));
  expect(await rejection()).toBeUndefined();
});

test('nothing is left behind, not even where it throws', () => {
  const before = Object.getOwnPropertyDescriptor(Promise.prototype, 'catch');
  expect(() =>
    observeRejection(() => {
      throw new Error('at once');
    }),
  ).toThrow('at once');
  expect(Object.getOwnPropertyDescriptor(Promise.prototype, 'catch')).toEqual(before);
});

test('only the synchronous part of the start is watched: what runs after it finds the method of the platform', async () => {
  const before = Object.getOwnPropertyDescriptor(Promise.prototype, 'catch');
  const seen: unknown[] = [];
  const look = (): void => void seen.push(Object.getOwnPropertyDescriptor(Promise.prototype, 'catch')?.value);
  const body = async (): Promise<string> => {
    look();
    await Promise.resolve();
    look();
    throw new Error('No funds.');
  };
  // Another call is under way, and so are timers and microtasks.
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

test('one start inside of another is watched apart, and both are undone', async () => {
  const before = Object.getOwnPropertyDescriptor(Promise.prototype, 'catch');
  const outer = observeRejection(() => {
    const inner = observeRejection(() => Promise.reject(new Error('inner')).catch(() => 'told'));
    return { inner, own: Promise.reject(new Error('outer')).catch(() => 'told') };
  });
  expect(Object.getOwnPropertyDescriptor(Promise.prototype, 'catch')).toEqual(before);
  expect(await outer.rejection()).toEqual({ error: new Error('outer') });
  expect(await outer.result.inner.rejection()).toEqual({ error: new Error('inner') });
});
