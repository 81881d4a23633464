/** Numbers to places: a round top, a few round steps, and where a value stands between. */
export type Scale = {
  readonly top: number;
  readonly ticks: readonly number[];
  readonly at: (value: number) => number;
};

const rounds = [1, 2, 2.5, 5, 10];

/**
 * A scale from 0 to a round number that holds `most`; `at` gives 0 at the bottom and 1 at the top. Steps are whole: calls
 * and milliseconds are.
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

/** Moments for the axis of time: as many as fit, at whole buckets. */
export function momentsFor(times: readonly number[], most = 6): readonly number[] {
  const every = Math.max(1, Math.ceil(times.length / most));
  return times.filter((_, index) => index % every === 0);
}

export function formatMomentOf(bucketMs: number): (at: number) => string {
  const day = 86_400_000;
  const options: Intl.DateTimeFormatOptions =
    bucketMs >= day
      ? // Days are counted as the ledger's budgets are, by UTC.
        { month: 'short', day: 'numeric', timeZone: 'UTC', timeZoneName: 'short' }
      : bucketMs >= 3_600_000
        ? { weekday: 'short', hour: '2-digit', minute: '2-digit' }
        : bucketMs >= 60_000
          ? { hour: '2-digit', minute: '2-digit' }
          : { hour: '2-digit', minute: '2-digit', second: '2-digit' };
  const format = new Intl.DateTimeFormat(undefined, options);
  return (at) => format.format(at);
}
