/**
 * Maps times to positions from 0 to 1.
 *
 * 1. A later time is never further left.
 * 2. Idle stretches are shortened until together they take no more room than the work, and are marked. Otherwise an
 * hour of waiting would leave a pixel for everything else.
 */
import type { TimelineCall } from '@quittance/server/internal/http/api/session';

export type Stretch = {
  readonly from: number;
  readonly to: number;
  /** From 0 to 1. */
  readonly start: number;
  readonly end: number;
  /** Shortened so much that the chart marks it. */
  readonly squeezed: boolean;
};

export type TimeScale = {
  readonly from: number;
  readonly to: number;
  readonly stretches: readonly Stretch[];
  readonly at: (moment: number) => number;
  /** Inverse of `at`. */
  readonly momentAt: (place: number) => number;
};

const noticeable = 2;

type Bars = readonly Pick<TimelineCall, 'spans'>[];
type Interval = { readonly from: number; readonly to: number };

export function createSessionScale(
  bars: Bars,
  now: number,
  { squeeze }: { readonly squeeze: boolean },
): TimeScale {
  const spans = bars.flatMap(({ spans: all }) => all);
  const from = Math.min(...spans.map((span) => span.from));
  const to = Math.max(...spans.map((span) => span.to ?? Math.max(now, span.from)));
  if (!Number.isFinite(from) || to <= from) {
    const moment = Number.isFinite(from) ? from : now;
    return { from: moment, to: moment, stretches: [], at: () => 0, momentAt: () => moment };
  }
  const busy = union(
    spans
      .filter(({ kind }) => kind === 'running' || kind === 'deciding')
      .map((span) => ({ from: span.from, to: span.to ?? Math.max(now, span.from) })),
  );
  const idle = gapsBetween(busy, from, to);
  const cap = squeeze ? widestIdle(busy, idle) : Number.POSITIVE_INFINITY;
  const pieces = [
    ...busy.map((each) => ({ ...each, drawn: each.to - each.from, squeezed: false })),
    ...idle.map((each) => {
      const length = each.to - each.from;
      return { ...each, drawn: Math.min(length, cap), squeezed: length > cap * noticeable };
    }),
  ]
    .filter((piece) => piece.to > piece.from)
    .toSorted((one, other) => one.from - other.from);
  const whole = pieces.reduce((sum, { drawn }) => sum + drawn, 0);
  let place = 0;
  const stretches = pieces.map(({ drawn, ...piece }) => {
    const start = place;
    place += drawn / whole;
    return { ...piece, start, end: Math.min(1, place) };
  });
  return {
    from,
    to,
    stretches,
    at: (moment) => between(stretches, moment, ['from', 'to'], ['start', 'end']),
    momentAt: (at) => between(stretches, at, ['start', 'end'], ['from', 'to']),
  };
}

type Ends = readonly [keyof Stretch & ('from' | 'start'), keyof Stretch & ('to' | 'end')];

/** Finds the stretch of a value by one pair of ends, and maps the value to the other pair. */
function between(stretches: readonly Stretch[], value: number, by: Ends, give: Ends): number {
  const last = stretches.at(-1);
  const piece = stretches.find((each) => value <= each[by[1]]) ?? last;
  if (piece === undefined) return 0;
  const length = piece[by[1]] - piece[by[0]];
  const share = length === 0 ? 0 : Math.min(1, Math.max(0, (value - piece[by[0]]) / length));
  return piece[give[0]] + share * (piece[give[1]] - piece[give[0]]);
}

function union(intervals: readonly Interval[]): readonly Interval[] {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of intervals.toSorted((one, other) => one.from - other.from)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else joined.push({ from, to });
  }
  return joined;
}

function gapsBetween(busy: readonly Interval[], from: number, to: number): readonly Interval[] {
  const gaps: Interval[] = [];
  let at = from;
  for (const each of busy) {
    if (each.from > at) gaps.push({ from: at, to: each.from });
    at = Math.max(at, each.to);
  }
  if (at < to) gaps.push({ from: at, to });
  return gaps;
}

/** Longest drawn length of an idle stretch, so that all of them take no more room than the work. */
function widestIdle(busy: readonly Interval[], idle: readonly Interval[]): number {
  const room = busy.reduce((sum, { from, to }) => sum + to - from, 0);
  // Without any work, the waiting is all there is to show.
  if (room === 0) return Number.POSITIVE_INFINITY;
  const lengths = idle.map(({ from, to }) => to - from).toSorted((one, other) => one - other);
  // Short stretches keep their length; long ones share the rest evenly.
  let left = room;
  for (const [index, length] of lengths.entries()) {
    const share = left / (lengths.length - index);
    if (length > share) return share;
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
}
