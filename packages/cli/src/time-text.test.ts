import { expect, test } from 'vitest';
import { age, duration, parseMoment, utcTimeText } from './time-text.ts';

const now = Date.UTC(2026, 9, 12, 12, 0, 0);

test.each([
  [0, 'now'],
  [40_000, '40 s'],
  [200_000, '3 min'],
  [5 * 3_600_000, '5 h'],
  [47 * 3_600_000, '47 h'],
  [12 * 86_400_000, '12 d'],
  [-5_000, 'in 5 s'],
])('%i ms ago is %s', (span, text) => {
  expect(age(now - span, now)).toBe(text);
});

test.each([
  [0, '0 ms'],
  [0.004, '4 µs'],
  [1.26, '1.3 ms'],
  [12.4, '12 ms'],
  [999.6, '1.0 s'],
  [61_000, '1 min 1 s'],
  [3_700_000, '1 h 1 min'],
])('%d ms took %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test.each([
  ['90s', now - 90_000],
  ['15m', now - 900_000],
  ['15 min', now - 900_000],
  ['7d', now - 7 * 86_400_000],
  ['2026-10-12T12:00:00Z', now],
  ['2026-10-12 12:00:00Z', now],
  ['2026-10-12', new Date(2026, 9, 12).getTime()],
])('accepts %s as a time', (text, at) => {
  expect(parseMoment(text, 'since', now)).toBe(at);
});

test.each(['yesterday', '7', '7y', '', '-1d', '2026-13-40'])('rejects %j as a time', (text) => {
  expect(() => parseMoment(text, 'since', now)).toThrow('--since takes a time span or a date');
});

test('programs get UTC', () => {
  expect(utcTimeText(now)).toBe('2026-10-12T12:00:00.000Z');
});
