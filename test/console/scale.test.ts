import { expect, test } from 'vitest';
import { formatMomentOf, scaleFor } from '../../console/src/charts/scale.ts';

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
