import { expect, it } from 'vitest';
import { backOffMs, isUndeliverable } from './start-notifications.ts';

const day = 24 * 3_600_000;

it.each([
  ['a day of tries', day, 300, true],
  ['a clock that jumps ahead after the first delivery', 30 * day, 1, false],
  ['a clock that jumps back', -30 * day, 300, false],
  ['a clock that stays behind for ever', -30 * day, 1_000, true],
  ['half a day', day / 2, 150, false],
])('%s: given up or not', (_, ageMs, deliveries, expected) => {
  expect(isUndeliverable(ageMs, deliveries)).toBe(expected);
});

it('the pause grows to five minutes, and half of it is random', () => {
  const pauses = [0, 1, 5, 20, 1_000].map((tries) => [backOffMs(tries, () => 0), backOffMs(tries, () => 1)]);
  expect(pauses).toEqual([
    [250, 500],
    [500, 1_000],
    [8_000, 16_000],
    [150_000, 300_000],
    [150_000, 300_000],
  ]);
});
