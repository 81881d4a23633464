import { expect, test } from 'vitest';
import { formatMomentOf, momentsFor, scaleFor } from '../../packages/console/src/charts/scale.ts';

const day = 86_400_000;

test('a day is the day that was counted, in every time zone', () => {
  expect(formatMomentOf(day)(Date.UTC(2026, 10, 14))).toMatch(/14.*UTC/);
});

test('a scale has whole round steps from zero to at least the maximum', () => {
  for (const most of [0, 1, 3, 7, 12, 99, 1_234]) {
    const { top, ticks } = scaleFor(most);
    expect(top).toBeGreaterThanOrEqual(most);
    expect(ticks.every(Number.isInteger)).toBe(true);
    expect(ticks[0]).toBe(0);
    expect(ticks.at(-1)).toBe(top);
  }
});

test('a time axis has as many labels as fit, at round times', () => {
  const from = Date.UTC(2026, 10, 14, 13, 27);
  const times = Array.from({ length: 30 }, (_, n) => from + n * 30_000);
  expect(momentsFor(times, 30_000, 8)).toEqual({
    moments: [28, 30, 32, 34, 36, 38, 40].map((minute) => Date.UTC(2026, 10, 14, 13, minute)),
    everyMs: 120_000,
  });
  const odd = Array.from({ length: 10 }, (_, n) => n * 60 * day);
  expect(momentsFor(odd, 60 * day, 4).moments).toEqual([0, 3, 6, 9].map((n) => n * 60 * day));
});
