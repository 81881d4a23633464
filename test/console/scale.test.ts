import { expect, test } from 'vitest';
import { formatMomentOf, momentsFor, scaleFor } from '../../console/src/charts/scale.ts';

const day = 86_400_000;

test('a day is the day that was counted, wherever it is looked at', () => {
  expect(formatMomentOf(day)(Date.UTC(2026, 10, 14))).toMatch(/14.*UTC/);
});

test('a scale goes in whole round steps from nothing to at least the most', () => {
  for (const most of [0, 1, 3, 7, 12, 99, 1_234]) {
    const { top, ticks } = scaleFor(most);
    expect(top).toBeGreaterThanOrEqual(most);
    expect(ticks.every(Number.isInteger)).toBe(true);
    expect(ticks[0]).toBe(0);
    expect(ticks.at(-1)).toBe(top);
  }
});

test('an axis of time has as many moments as fit, at times of the clock', () => {
  const from = Date.UTC(2026, 10, 14, 13, 27);
  const times = Array.from({ length: 30 }, (_, n) => from + n * 30_000);
  expect(momentsFor(times, 30_000, 8)).toEqual({
    moments: [28, 30, 32, 34, 36, 38, 40].map((minute) => Date.UTC(2026, 10, 14, 13, minute)),
    everyMs: 120_000,
  });
  const odd = Array.from({ length: 10 }, (_, n) => n * 60 * day);
  expect(momentsFor(odd, 60 * day, 4).moments).toEqual([0, 3, 6, 9].map((n) => n * 60 * day));
});
