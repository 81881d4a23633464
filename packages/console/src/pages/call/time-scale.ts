/** Maps a time to a position from 0 to 1. Long waits are shortened so that gates of microseconds stay visible. */
import type { Bar } from './waterfall.ts';

export type TimeScale = {
  readonly at: (ms: number) => number;
  /** Are waits drawn shorter than they were? */
  readonly isBroken: boolean;
};

/** Largest share of a wait, relative to all other time. */
const widestWait = 0.6;

export function createCallScale(bars: readonly Bar[], now: number): TimeScale {
  const endOf = ({ from, ms }: Bar): number => (ms === undefined ? Math.max(now, from) : from + ms);
  const end = Math.max(0.001, ...bars.map(endOf));
  const waits = bars
    .filter(({ kind }) => kind === 'wait')
    .map((bar) => ({ from: bar.from, ms: endOf(bar) - bar.from }))
    .filter(({ ms }) => ms > 0);
  // The gap before a late resolution is also idle time.
  for (const gap of gapsOf(bars, endOf)) waits.push(gap);
  const busy = Math.max(0.001, end - waits.reduce((sum, { ms }) => sum + ms, 0));
  const room = (ms: number): number => Math.min(ms, Math.max(busy * widestWait, 0.001));
  const drawn = (ms: number): number => {
    let shorter = 0;
    for (const wait of waits) {
      const passed = Math.min(Math.max(ms - wait.from, 0), wait.ms);
      shorter += passed * (1 - room(wait.ms) / wait.ms);
    }
    return ms - shorter;
  };
  const whole = Math.max(drawn(end), 0.001);
  return {
    at: (ms) => Math.min(1, Math.max(0, drawn(ms) / whole)),
    isBroken: waits.some(({ ms }) => room(ms) < ms),
  };
}

/** Idle periods between the bars. */
function gapsOf(
  bars: readonly Bar[],
  endOf: (bar: Bar) => number,
): readonly { readonly from: number; readonly ms: number }[] {
  const gaps: { readonly from: number; readonly ms: number }[] = [];
  let reached = 0;
  for (const bar of bars.toSorted((one, other) => one.from - other.from)) {
    if (bar.from > reached) gaps.push({ from: reached, ms: bar.from - reached });
    reached = Math.max(reached, endOf(bar));
  }
  return gaps;
}
