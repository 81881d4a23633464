import { expect, test } from 'vitest';
import { formatDuration, formatTime } from '../../packages/console/src/ui/time.tsx';

test.each([
  [undefined, '–'],
  [0.4, '<1 ms'],
  [999.4, '999 ms'],
  [999.6, '1.00 s'],
  [59_994, '59.99 s'],
  [59_999, '1m 0s'],
  [119_700, '2m 0s'],
  [200_000, '3m 20s'],
  [3_599_800, '1h'],
  [7_500_000, '2h 5m'],
  [3 * 86_400_000, '3d'],
  [9 * 86_400_000 + 7_200_000, '9d 2h'],
  [40 * 86_400_000 + 7_200_000, '40d'],
])('%s ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('a time states its zone', () => {
  const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' })
    .formatToParts(0)
    .find(({ type }) => type === 'timeZoneName');
  expect(formatTime(0)).toContain(zone?.value);
});
