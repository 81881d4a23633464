/** Times and durations for people: local time, with only the digits that matter. */
import { UsageError } from './usage-error.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `2026-10-12 14:03:11` in the reader's time zone. */
export function localTimeText(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  );
}

/** `2026-10-12T12:03:11.042Z`, for programs. */
export function utcTimeText(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString();
}

/** Time since then: `now`, `40 s`, `3 min`, `5 h`, `12 d`. */
export function age(at: number, now: number): string {
  const span = now - at;
  if (span < -second) return `in ${spanWords(-span)}`;
  return span < second ? 'now' : spanWords(span);
}

function spanWords(span: number): string {
  if (span < minute) return `${Math.floor(span / second)} s`;
  if (span < hour) return `${Math.floor(span / minute)} min`;
  if (span < 2 * day) return `${Math.floor(span / hour)} h`;
  return `${Math.floor(span / day)} d`;
}

/** Duration: `40 µs`, `12 ms`, `1.3 s`, `4 min 5 s`. */
export function duration(ms: number): string {
  if (ms > 0 && ms < 0.9995) return `${Math.max(1, Math.round(ms * 1_000))} µs`;
  if (ms < 9.95) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / second).toFixed(1)} s`;
  if (ms < hour) return `${Math.floor(ms / minute)} min ${Math.floor((ms % minute) / second)} s`;
  return `${Math.floor(ms / hour)} h ${Math.floor((ms % hour) / minute)} min`;
}

const units: Readonly<Record<string, number>> = {
  s: second,
  m: minute,
  min: minute,
  h: hour,
  d: day,
  w: 7 * day,
};

/** Parses a duration: `90s`, `15m`, `6h`, `7d`, `2w`. Returns milliseconds. */
export function parseSpan(text: string, option: string): number {
  const ms = spanMs(text);
  if (ms !== undefined && ms >= 1) return ms;
  throw new UsageError(`--${option} takes a time span; found ${JSON.stringify(text)}.`, [
    `--${option} 15m`,
    `--${option} 7d`,
  ]);
}

function spanMs(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(text) ?? [];
  const unitMs = units[unit.toLowerCase()];
  return count === undefined || unitMs === undefined ? undefined : Math.floor(Number(count) * unitMs);
}

/** Parses `90s`, `15m`, `6h`, `7d`, `2w` ago, or a date with or without a time. The default zone is local. */
export function parseMoment(text: string, option: string, now: number): number {
  const span = spanMs(text);
  if (span !== undefined) return now - span;
  // A bare date would be read as UTC.
  const dated = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00` : text.replace(' ', 'T');
  const at = /^\d{4}-\d{2}/.test(text) ? Date.parse(dated) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw new UsageError(`--${option} takes a time span or a date; found ${JSON.stringify(text)}.`, [
    `--${option} 15m`,
    `--${option} 7d`,
    `--${option} 2026-10-12`,
    `--${option} 2026-10-12T14:00:00Z`,
  ]);
}
