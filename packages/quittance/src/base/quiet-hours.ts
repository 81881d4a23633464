/**
 * Quiet hours: times of the week in which no person is expected to answer. They belong to a time zone, so they move
 * with daylight saving.
 *
 * 1. A wait that is extended by quiet hours ends outside of them, unless the extension would be longer than its bound.
 * 2. The result depends on the arguments only: the same in every process.
 */
import { QuittanceError } from './error.ts';

export const weekDays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type WeekDay = (typeof weekDays)[number];

/** Hours of some days in which no person is expected to answer. */
export type QuietHours = {
  /** `HH:MM`. */
  readonly from: string;
  /** `HH:MM`. If it is not after `from`, the hours end on the next day. */
  readonly to: string;
  /** IANA name, for example `Europe/Berlin`. */
  readonly timeZone: string;
  /** The days on which the hours begin. Default: every day. */
  readonly days?: readonly WeekDay[];
};

export interface QuietTimes {
  isQuiet(atMs: number): boolean;
  /** The moment at which `waitMs` of time outside the quiet hours have passed. At most 30 days are added. */
  addWakingTime(fromMs: number, waitMs: number): number;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** No question waits for months because of its quiet hours. */
const mostAddedMs = 30 * dayMs;
const timePattern = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

/** Throws `config.invalid` for hours that it does not understand, and for hours without an end. */
export function createQuietTimes(hours: readonly QuietHours[]): QuietTimes {
  const problem = findQuietHoursProblem(hours);
  if (problem !== undefined) throw new QuittanceError('config.invalid', `quietHours${problem}`);
  return toQuietTimes(hours);
}

function toQuietTimes(hours: readonly QuietHours[]): QuietTimes {
  const zones = hours.map(({ from, to, timeZone, days = weekDays }) => ({
    clock: createZoneClock(timeZone),
    fromMs: readTime(from),
    // Over midnight, or a whole day.
    toMs: readTime(to) + (readTime(to) <= readTime(from) ? dayMs : 0),
    days: new Set(days.map((day) => weekDays.indexOf(day))),
  }));
  const spansOf = (fromMs: number, untilMs: number): readonly Span[] =>
    zones
      .flatMap((zone) => spansIn(zone, fromMs, untilMs))
      .toSorted((left, right) => left.fromMs - right.fromMs);
  const quietUntil = (atMs: number): number => {
    let end = atMs;
    for (const span of spansOf(atMs, atMs + 1)) if (span.fromMs <= end) end = Math.max(end, span.toMs);
    return end;
  };
  return {
    isQuiet: (atMs) => quietUntil(atMs) > atMs,
    addWakingTime(fromMs, waitMs) {
      if (zones.length === 0) return fromMs + waitMs;
      const last = fromMs + waitMs + mostAddedMs;
      let left = waitMs;
      let at = fromMs;
      for (; at < last; at = Math.min(at, last)) {
        const awake = quietUntil(at);
        if (awake > at) {
          at = awake;
          continue;
        }
        // Outside of quiet hours here. A wait that is over now ends at once.
        if (left <= 0) return at;
        const next = spansOf(at, at + dayMs)[0]?.fromMs ?? at + dayMs;
        const passed = Math.min(left, next - at);
        left -= passed;
        at += passed;
      }
      return last;
    },
  };
}

type Span = { readonly fromMs: number; readonly toMs: number };
type Zone = {
  readonly clock: Intl.DateTimeFormat;
  readonly fromMs: number;
  readonly toMs: number;
  readonly days: ReadonlySet<number>;
};

/** The quiet times that overlap a period. */
function spansIn({ clock, days, ...hours }: Zone, fromMs: number, untilMs: number): readonly Span[] {
  const spans: Span[] = [];
  // Hours that began on the day before may still last.
  const first = Math.floor(toWallTime(clock, fromMs) / dayMs) - 1;
  const last = Math.floor(toWallTime(clock, untilMs) / dayMs);
  for (let day = first; day <= last; day++) {
    if (!days.has(new Date(day * dayMs).getUTCDay())) continue;
    const start = fromWallTime(clock, day * dayMs + hours.fromMs);
    const end = fromWallTime(clock, day * dayMs + hours.toMs);
    if (end > fromMs && start < untilMs) spans.push({ fromMs: start, toMs: end });
  }
  return spans;
}

const readTime = (text: string): number => {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return (hours * 60 + minutes) * minuteMs;
};

/** Continues the word `quietHours`; undefined if the hours can be used. */
export function findQuietHoursProblem(hours: readonly QuietHours[]): string | undefined {
  if (!Array.isArray(hours)) return ' must be a list.';
  for (const [index, each] of hours.entries()) {
    const problem = findHoursProblem(each);
    if (problem !== undefined) return `[${index}]${problem}`;
  }
  const times = toQuietTimes(hours);
  const isEndless = seasons.some((at) => times.addWakingTime(at, 1) > at + mostAddedMs);
  return isEndless ? ' leave no time of the week to answer. Shorten them.' : undefined;
}

/** Zones shift against each other with daylight saving. */
const seasons: readonly number[] = [Date.UTC(2026, 0, 14), Date.UTC(2026, 6, 15)];

function findHoursProblem(hours: QuietHours): string | undefined {
  if (typeof hours !== 'object' || hours === null) return ' must be an object with from, to and timeZone.';
  const unknown = Object.keys(hours).find((key) => !['from', 'to', 'timeZone', 'days'].includes(key));
  if (unknown !== undefined)
    return ` has an unknown field ${JSON.stringify(unknown)}; expected from, to, timeZone or days.`;
  for (const name of ['from', 'to'] as const)
    if (typeof hours[name] !== 'string' || !timePattern.test(hours[name]))
      return `.${name} must be a time such as "22:00".`;
  const { days = weekDays } = hours;
  if (!Array.isArray(days) || days.length === 0 || !days.every((day) => weekDays.includes(day)))
    return `.days must be a list of ${weekDays.join(', ')}.`;
  return isZone(hours.timeZone)
    ? undefined
    : '.timeZone must be the name of a time zone, e.g. Europe/Berlin or UTC.';
}

function isZone(timeZone: unknown): boolean {
  if (typeof timeZone !== 'string' || timeZone === '') return false;
  try {
    createZoneClock(timeZone);
    return true;
  } catch {
    return false;
  }
}

/** Local time of an IANA time zone, by `Intl`, so that it follows daylight saving. */

/** The clock of a time zone. Throws a RangeError for an unknown zone. */
const createZoneClock = (timeZone: string): Intl.DateTimeFormat =>
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
function toWallTime(clock: Intl.DateTimeFormat, atMs: number): number {
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
function fromWallTime(clock: Intl.DateTimeFormat, wallMs: number): number {
  const offsetAt = (atMs: number): number => toWallTime(clock, atMs) - atMs;
  const [before, after] = [offsetAt(wallMs - halfDayMs), offsetAt(wallMs + halfDayMs)];
  const early = wallMs - before;
  if (before === after || offsetAt(early) === before) return early;
  const late = wallMs - after;
  return offsetAt(late) === after ? late : early;
}
