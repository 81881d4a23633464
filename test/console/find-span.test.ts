import { describe, expect, test } from 'vitest';
import { findSpan } from '../../packages/console/src/ui/find-span.ts';

const now = 1_800_000_000_000;
const minute = 60_000;
const day = 24 * 60 * minute;

/** A ledger with calls of these ages. */
const calledAgo =
  (...ages: readonly number[]) =>
  async (until = Infinity) => {
    const [newest] = ages.filter((age) => now - age < until).toSorted((one, other) => one - other);
    return { rows: newest === undefined ? [] : [{ requestedAt: now - newest } as never] }; // the only field that is read
  };

describe('a page that shows a time span', () => {
  test.each([
    ['5m', [0, 2 * minute]],
    ['15m', [0, 6 * minute]],
    ['15m', [6 * minute, 14 * minute]],
    ['1h', [0, 20 * minute]],
    ['1h', [0, 90 * day]],
    ['24h', [61 * minute, 90 * day]],
    ['7d', [2 * day]],
    ['30d', [400 * day]],
    ['1h', []],
  ])('shows the last %s for calls of this age: %s', async (key, ages) => {
    expect(await findSpan('1h', now, calledAgo(...ages))).toBe(key);
  });

  test('is not asked for more than fits', async () => {
    expect(await findSpan('24h', now, calledAgo(0, 3 * minute))).toBe('5m');
    expect(await findSpan('5m', now, calledAgo(0))).toBe('5m');
  });
});
