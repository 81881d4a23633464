/** Local time of an IANA time zone, by `Intl`, so that it follows daylight saving. */

/** The clock of a time zone. Throws a RangeError for an unknown zone. */
export const createZoneClock = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    hourCycle: 'h23',
  });

const halfDayMs = 12 * 3_600_000;

/** What the wall clock of the zone shows at a moment, as the moment at which a clock in UTC shows the same. */
export function toWallTime(clock: Intl.DateTimeFormat, atMs: number): number {
  const parts = clock.formatToParts(atMs);
  const part = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((each) => each.type === type)?.value);
  return Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
    atMs % 1_000,
  );
}

/**
 * The moment at which the wall clock of the zone shows this time: the first of two when clocks are turned back. A time
 * that clocks skip is moved by as much as they are turned forward.
 */
export function fromWallTime(clock: Intl.DateTimeFormat, wallMs: number): number {
  const offsetAt = (atMs: number): number => toWallTime(clock, atMs) - atMs;
  const [before, after] = [offsetAt(wallMs - halfDayMs), offsetAt(wallMs + halfDayMs)];
  const early = wallMs - before;
  if (before === after || offsetAt(early) === before) return early;
  const late = wallMs - after;
  return offsetAt(late) === after ? late : early;
}
