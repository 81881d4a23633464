/**
 * Quiet hours: times of the week in which nobody is expected to answer. A question that waits through them gets that
 * time on top. The hours are those of a time zone, so they move with daylight saving.
 */

export const weekDays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type WeekDay = (typeof weekDays)[number];

export type QuietHours = {
  /** The days on which the hours begin. */
  readonly days: readonly WeekDay[];
  /** Minutes after midnight. If `to` is not after `from`, the hours end on the next day. */
  readonly from: number;
  readonly to: number;
  readonly timeZone: string;
  readonly clock: Intl.DateTimeFormat;
};

/** The clock of a time zone. Throws a RangeError for an unknown zone. */
export const createZoneClock = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });

const minuteMs = 60_000;
/** Longer waits are not extended further: no question waits for years because of its quiet hours. */
const longestMs = 400 * 24 * 60 * minuteMs;

/** Is this moment within quiet hours? */
export function isQuiet(hours: readonly QuietHours[], atMs: number): boolean {
  return hours.some((each) => isWithin(each, localTime(each.clock, atMs)));
}

/** The moment at which `waitMs` of time outside the quiet hours have passed since `fromMs`. */
export function addWakingTime(hours: readonly QuietHours[], fromMs: number, waitMs: number): number {
  if (hours.length === 0) return fromMs + waitMs;
  let left = waitMs;
  let at = fromMs;
  const last = fromMs + waitMs + longestMs;
  while (left > 0 && at < last) {
    const quiet = isQuiet(hours, at);
    const next = nextChange(hours, at, quiet);
    const passed = quiet ? next - at : Math.min(left, next - at);
    if (!quiet) left -= passed;
    at += passed;
  }
  // A question must not end inside quiet hours: it would end unanswered.
  return isQuiet(hours, at) ? nextChange(hours, at, true) : at;
}

/**
 * The next moment at which quiet hours begin or end, or a week from now if they never do. Time zones change on quarters
 * of an hour, so only hours that are set otherwise need a look at every minute.
 */
function nextChange(hours: readonly QuietHours[], atMs: number, quiet: boolean): number {
  const step = hours.every(({ from, to }) => from % 15 === 0 && to % 15 === 0) ? 15 * minuteMs : minuteMs;
  const end = atMs + 8 * 24 * 60 * minuteMs;
  for (let at = (Math.floor(atMs / step) + 1) * step; at <= end; at += step)
    if (isQuiet(hours, at) !== quiet) return at;
  return end;
}

type LocalTime = { readonly day: number; readonly minute: number };

function isWithin({ days, from, to }: QuietHours, { day, minute }: LocalTime): boolean {
  const startsOn = (index: number): boolean => {
    const name = weekDays[(index + 7) % 7];
    return name !== undefined && days.includes(name);
  };
  if (from < to) return startsOn(day) && minute >= from && minute < to;
  return (startsOn(day) && minute >= from) || (startsOn(day - 1) && minute < to);
}

/** Day of the week, from Monday, and minute of the day in a time zone. */
function localTime(clock: Intl.DateTimeFormat, atMs: number): LocalTime {
  const parts = clock.formatToParts(atMs);
  const part = (type: Intl.DateTimeFormatPartTypes): string =>
    parts.find((each) => each.type === type)?.value ?? '';
  const day = weekDays.findIndex((name) => name === part('weekday').toLowerCase());
  return { day, minute: Number(part('hour')) * 60 + Number(part('minute')) };
}
