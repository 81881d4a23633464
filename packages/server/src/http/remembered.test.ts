import { expect, test } from 'vitest';
import { Remembered } from './reader.ts';

const limits = { freshMs: 1e9, staleMs: 1e9, most: 3, mostPerCaller: 2 };
const keepAll = (): boolean => true;

/** Answers that the test releases. */
function source(): { readonly make: () => Promise<number>; readonly made: () => number } {
  let made = 0;
  return { make: () => Promise.resolve(++made), made: () => made };
}

test('callers that ask for the same share one answer', async () => {
  const remembered = new Remembered<number>(limits);
  const { make, made } = source();
  expect(await remembered.get('a', 'ada', make, keepAll)).toBe(1);
  expect(await remembered.get('a', 'bob', make, keepAll)).toBe(1);
  expect(made()).toBe(1);
});

test('a slightly old answer is served once more while the next one is made', async () => {
  const remembered = new Remembered<number>({ ...limits, freshMs: 0 });
  const { make, made } = source();
  expect(await remembered.get('a', 'ada', make, keepAll)).toBe(1);
  expect(await remembered.get('a', 'ada', make, keepAll)).toBe(1);
  expect(made()).toBe(2);
  expect(await remembered.get('a', 'ada', make, keepAll)).toBe(2);
});

test('an answer that is too old is made again first', async () => {
  const remembered = new Remembered<number>({ ...limits, freshMs: 0, staleMs: 0 });
  const { make } = source();
  expect(await remembered.get('a', 'ada', make, keepAll)).toBe(1);
  expect(await remembered.get('a', 'ada', make, keepAll)).toBe(2);
});

test('a caller with many different requests evicts its own answers, not those of others', async () => {
  const remembered = new Remembered<number>(limits);
  const honest = source();
  await remembered.get('honest', 'ada', honest.make, keepAll);
  for (let n = 0; n < 100; n++) await remembered.get(`hostile ${n}`, 'eve', source().make, keepAll);
  await remembered.get('honest', 'ada', honest.make, keepAll);
  expect(honest.made()).toBe(1);
});

test('an answer that is too large, or a failure, is not cached', async () => {
  const remembered = new Remembered<number>(limits);
  const { make, made } = source();
  await remembered.get('a', 'ada', make, () => false);
  await remembered.get('a', 'ada', make, () => false);
  expect(made()).toBe(2);
  await expect(remembered.get('b', 'ada', () => Promise.reject(new Error('no')), keepAll)).rejects.toThrow(
    'no',
  );
  expect(await remembered.get('b', 'ada', make, keepAll)).toBe(3);
});
