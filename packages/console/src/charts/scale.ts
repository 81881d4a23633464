/** Maps numbers to positions: a round maximum with a few round steps. */
export type Scale = {
  readonly top: number;
  readonly ticks: readonly number[];
  readonly at: (value: number) => number;
};

const rounds = [1, 2, 2.5, 5, 10];

/**
 * A scale from 0 to a round number of at least `most`. `at` returns 0 at the bottom and 1 at the top. Steps are
 * integers, because calls and milliseconds are.
 */
export function scaleFor(most: number, steps = 4): Scale {
  const wanted = Math.max(most / steps, 1);
  const size = 10 ** Math.floor(Math.log10(wanted));
  const step =
    rounds.map((round) => round * size).find((each) => each >= wanted && Number.isInteger(each)) ?? 10 * size;
  const count = Math.max(1, Math.ceil(Math.max(most, 1) / step));
  const top = step * count;
  return {
    top,
    ticks: Array.from({ length: count + 1 }, (_, n) => n * step),
    at: (value) => Math.min(1, Math.max(0, value / top)),
  };
}

export const formatNumber = (value: number): string =>
  value >= 10_000
    ? new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 }).format(value)
    : value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 });

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const intervals = [
  ...[1, 5, 10, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 7, 14, 28].map((count) => count * day),
];

/** Tick times for the time axis: as many as fit, at round times of day. */
export function momentsFor(
  times: readonly number[],
  bucketMs: number,
  most: number,
): { readonly moments: readonly number[]; readonly everyMs: number } {
  for (const everyMs of intervals) {
    if (everyMs % bucketMs !== 0) continue;
    const moments = times.filter((at) => at % everyMs === 0);
    if (moments.length <= most) return { moments, everyMs };
  }
  const every = Math.ceil(times.length / most);
  return { moments: times.filter((_, index) => index % every === 0), everyMs: bucketMs };
}

/** `withZone`: adds the time zone, for a time outside an axis. */
export function formatMomentOf(bucketMs: number, withZone = false): (at: number) => string {
  const options: Intl.DateTimeFormatOptions =
    bucketMs >= day
      ? // Days are UTC days, as in the ledger's budgets.
        { month: 'short', day: 'numeric', timeZone: 'UTC', timeZoneName: 'short' }
      : bucketMs >= hour
        ? { weekday: 'short', hour: 'numeric', minute: '2-digit' }
        : bucketMs >= minute
          ? { hour: 'numeric', minute: '2-digit' }
          : { hour: 'numeric', minute: '2-digit', second: '2-digit' };
  const zone = withZone ? ({ timeZoneName: 'short' } as const) : {};
  const format = new Intl.DateTimeFormat(undefined, { ...options, ...zone });
  return (at) => format.format(at);
}
