import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuietHours } from './quiet-hours.ts';
import { createQuietTimes, weekDays } from './quiet-hours.ts';

const night: QuietHours = { from: '22:00', to: '07:00', timeZone: 'Europe/Berlin' };
const weekend: QuietHours = { from: '00:00', to: '00:00', timeZone: 'Europe/Berlin', days: ['sat', 'sun'] };
const hour = 3_600_000;
const at = (text: string): number => Date.parse(text);
const text = (ms: number): string => new Date(ms).toISOString();

describe('quiet hours', () => {
  it('follow their time zone, over midnight', () => {
    const times = createQuietTimes([night]);
    expect(times.isQuiet(at('2026-01-15T21:00:00Z'))).toBe(true);
    expect(times.isQuiet(at('2026-01-15T20:59:59.999Z'))).toBe(false);
    expect(times.isQuiet(at('2026-01-16T05:59:59.999Z'))).toBe(true);
    expect(times.isQuiet(at('2026-01-16T06:00:00Z'))).toBe(false);
    expect(times.isQuiet(at('2026-07-15T20:00:00Z'))).toBe(true);
    expect(times.isQuiet(at('2026-07-15T05:00:00Z'))).toBe(false);
  });

  it('belong to the day on which they begin', () => {
    const times = createQuietTimes([{ from: '18:00', to: '08:00', timeZone: 'UTC', days: ['fri'] }]);
    expect(times.isQuiet(at('2026-11-13T19:00:00Z'))).toBe(true);
    expect(times.isQuiet(at('2026-11-14T07:59:00Z'))).toBe(true);
    expect(times.isQuiet(at('2026-11-14T19:00:00Z'))).toBe(false);
  });

  it('extend a wait by the time that it spends in them', () => {
    const times = createQuietTimes([night]);
    // Two hours from 21:00 in Berlin: one before the night, one after it.
    expect(text(times.addWakingTime(at('2026-01-15T20:00:00Z'), 2 * hour))).toBe('2026-01-16T07:00:00.000Z');
    // Asked in the night.
    expect(text(times.addWakingTime(at('2026-01-16T01:00:00Z'), hour))).toBe('2026-01-16T07:00:00.000Z');
    expect(createQuietTimes([]).addWakingTime(7, hour)).toBe(7 + hour);
  });

  it('join: a night before a weekend is one quiet time', () => {
    const times = createQuietTimes([night, weekend]);
    // Friday 21:00 in Berlin; an hour is left, and Monday at 07:00 is the next working moment.
    expect(text(times.addWakingTime(at('2026-11-13T20:00:00Z'), 2 * hour))).toBe('2026-11-16T07:00:00.000Z');
  });

  it('follow daylight saving: clocks go forward and back', () => {
    const times = createQuietTimes([night]);
    expect(text(times.addWakingTime(at('2026-03-28T20:00:00Z'), 2 * hour))).toBe('2026-03-29T06:00:00.000Z');
    expect(text(times.addWakingTime(at('2026-10-24T19:00:00Z'), 2 * hour))).toBe('2026-10-25T07:00:00.000Z');
    // 02:30 does not exist in the night of the change to summer time: the hours end at 03:30.
    const early = createQuietTimes([{ from: '01:00', to: '02:30', timeZone: 'Europe/Berlin' }]);
    expect(early.isQuiet(at('2026-03-29T01:29:00Z'))).toBe(true);
    expect(early.isQuiet(at('2026-03-29T01:30:00Z'))).toBe(false);
  });

  it('add at most 30 days, so that a call never waits for ever', () => {
    const times = createQuietTimes([
      { from: '00:05', to: '00:00', timeZone: 'UTC' },
      { from: '00:00', to: '00:00', timeZone: 'UTC', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
    ]);
    const start = at('2026-01-15T12:00:00Z');
    expect(times.addWakingTime(start, 24 * hour)).toBe(start + 31 * 24 * hour);
  });

  it.each<[string, unknown, string]>([
    ['no list', 'night', 'quietHours must be a list'],
    ['no object', ['22:00'], 'quietHours[0] must be an object'],
    ['an unknown field', [{ ...night, zone: 'UTC' }], 'quietHours[0] has an unknown field "zone"'],
    ['an impossible time', [{ ...night, to: '24:00' }], 'quietHours[0].to must be a time'],
    ['an unknown zone', [{ ...night, timeZone: 'Mars/Olympus' }], 'quietHours[0].timeZone must be'],
    ['no days', [{ ...night, days: [] }], 'quietHours[0].days must be'],
    ['an unknown day', [{ ...night, days: ['monday'] }], 'quietHours[0].days must be'],
    ['a whole week', [{ ...night, from: '00:00', to: '00:00' }], 'quietHours leave no time'],
    [
      'two zones that leave nothing',
      [
        { from: '06:00', to: '23:00', timeZone: 'UTC' },
        { from: '17:00', to: '05:00', timeZone: 'Asia/Tokyo' },
        { from: '17:00', to: '10:00', timeZone: 'America/New_York' },
      ],
      'quietHours leave no time',
    ],
  ])('are refused with %s', (_, hours, message) => {
    expect(() => createQuietTimes(hours as QuietHours[])).toThrow(message);
  });

  it('never let a wait end within them, and never shorten it', () => {
    const time = fc
      .integer({ min: 0, max: 24 * 60 - 1 })
      .map(
        (minute) =>
          `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`,
      );
    const zone = fc.constantFrom('America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC');
    fc.assert(
      fc.property(
        time,
        time,
        zone,
        fc.subarray([...weekDays], { minLength: 1, maxLength: 6 }),
        fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2026-12-31T00:00:00Z') }),
        fc.integer({ min: 1, max: 20 * hour }),
        (from, to, timeZone, days, start, wait) => {
          const times = createQuietTimes([{ from, to, timeZone, days }]);
          const end = times.addWakingTime(start, wait);
          expect(end).toBeGreaterThanOrEqual(start + wait);
          expect(times.isQuiet(end)).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });
});
