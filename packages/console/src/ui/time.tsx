import type { ReactNode } from 'react';
import { useContext, useEffect, useState } from 'react';
import { SkewContext } from './skew.ts';

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** `4m`, `2h 5m`, `40d`: short enough for a column. */
export function formatAge(ms: number): string {
  if (ms < 1_000) return 'now';
  const at = units.findIndex(([, size]) => ms >= size);
  const [name, size] = units[at] ?? ['s', 1_000];
  const smaller = units[at + 1];
  const rest = smaller === undefined ? 0 : Math.floor((ms % size) / smaller[1]);
  const whole = `${Math.floor(ms / size)}${name}`;
  const isPlain = rest === 0 || name === 's' || name === 'm' || (name === 'd' && ms >= 10 * size);
  return isPlain ? whole : `${whole} ${rest}${smaller?.[0] ?? ''}`;
}

/** `8 ms`, `1.24 s`, `3m 20s`, `2h 5m`. Rounded before it is split, so that 60 seconds become a minute. */
export function formatDuration(ms: number | undefined): string {
  if (ms === undefined) return '–';
  if (ms < 1) return '<1 ms';
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_995) return `${(ms / 1_000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1_000);
  return seconds < 3_600 ? `${Math.floor(seconds / 60)}m ${seconds % 60}s` : formatAge(seconds * 1_000);
}

/** With the time zone, for comparison with logs of other machines. */
export const formatTime = (at: number): string =>
  new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** The same with milliseconds, for events of one call. */
export const formatInstant = (at: number): string =>
  new Date(at).toLocaleString(undefined, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    timeZoneName: 'short',
  });

/**
 * Formats integer micro-units as an amount: 1,234,567 is 1.234567, or 1.23 in a currency. Small amounts keep two digits
 * that are not zero.
 */
export function formatCost(micros: number, currency: string | undefined): string {
  if (micros === 0) return '–';
  const amount = micros / 1_000_000;
  if (currency === undefined) return amount.toLocaleString(undefined, { maximumFractionDigits: 6 });
  return amount.toLocaleString(undefined, {
    style: 'currency',
    currency,
    ...(Math.abs(amount) < 0.1 && { maximumSignificantDigits: 2 }),
  });
}

/** A relative time that updates itself. Hovering shows the exact time. */
export function Age({ at }: { readonly at: number }): ReactNode {
  const now = useServerNow(1_000);
  return (
    <time dateTime={new Date(at).toISOString()} title={formatTime(at)}>
      {formatAge(Math.max(0, now - at))}
    </time>
  );
}

/** The server's time, updated while the page is visible. */
export function useServerNow(everyMs: number): number {
  const skewMs = useContext(SkewContext);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now + skewMs;
}
