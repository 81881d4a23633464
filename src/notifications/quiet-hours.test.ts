import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuietHours } from './quiet-hours.ts';
import { addWakingTime, createZoneClock, isQuiet, weekDays } from './quiet-hours.ts';

const hours = (
  from: number,
  to: number,
  timeZone: string,
  days: QuietHours['days'] = weekDays,
): QuietHours => ({
  days,
  from,
  to,
  timeZone,
  clock: createZoneClock(timeZone),
});
const night = hours(22 * 60, 7 * 60, 'Europe/Berlin');
const hour = 3_600_000;
const at = (text: string): number => Date.parse(text);

describe('quiet hours', () => {
  it('are those of their time zone, over midnight', () => {
    expect(isQuiet([night], at('2026-01-15T21:00:00Z'))).toBe(true);
    expect(isQuiet([night], at('2026-01-15T20:59:00Z'))).toBe(false);
    expect(isQuiet([night], at('2026-07-15T20:00:00Z'))).toBe(true);
    expect(isQuiet([night], at('2026-07-15T05:00:00Z'))).toBe(false);
  });

  it('belong to the day on which they begin', () => {
    const weekend = hours(18 * 60, 8 * 60, 'UTC', ['fri']);
    expect(isQuiet([weekend], at('2026-11-13T19:00:00Z'))).toBe(true);
    expect(isQuiet([weekend], at('2026-11-14T07:59:00Z'))).toBe(true);
    expect(isQuiet([weekend], at('2026-11-14T19:00:00Z'))).toBe(false);
  });

  it('extend a wait by the time that it spends in them', () => {
    // Two hours from 21:00 in Berlin: one before the night, one after it.
    expect(addWakingTime([night], at('2026-01-15T20:00:00Z'), 2 * hour)).toBe(at('2026-01-16T07:00:00Z'));
    expect(addWakingTime([], at('2026-01-15T20:00:00Z'), hour)).toBe(at('2026-01-15T21:00:00Z'));
  });

  it('follow daylight saving: the night of the change is an hour shorter', () => {
    expect(addWakingTime([night], at('2026-03-28T20:00:00Z'), 2 * hour)).toBe(at('2026-03-29T06:00:00Z'));
  });

  it('never let a wait end within them, and never shorten it', () => {
    const time = fc.integer({ min: 0, max: 24 * 4 - 1 }).map((quarter) => quarter * 15);
    fc.assert(
      fc.property(
        time,
        time,
        fc.subarray([...weekDays], { minLength: 1, maxLength: 6 }),
        fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2026-12-31T00:00:00Z') }),
        fc.integer({ min: 1, max: 30 * hour }),
        (from, to, days, start, wait) => {
          const quiet = [hours(from, to, 'America/New_York', days)];
          const end = addWakingTime(quiet, start, wait);
          expect(end).toBeGreaterThanOrEqual(start + wait);
          expect(isQuiet(quiet, end)).toBe(false);
        },
      ),
      { numRuns: 30 },
    );
  });
});
