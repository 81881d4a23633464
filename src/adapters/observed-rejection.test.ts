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
