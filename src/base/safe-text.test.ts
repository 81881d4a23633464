import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromSafeText, safeJson, safeLines, safeText } from './safe-text.ts';

test.each([
  ['\u001b[31mred', '\\u001b[31mred'],
  ['\u009b2J', '\\u009b2J'],
  ['a\r\nb\tc', 'a\\r\\nb\\tc'],
  ['\u202Eevil\u2066', '\\u202eevil\\u2066'],
  ['zero\u200bwidth\ufeff', 'zero\\u200bwidth\\ufeff'],
  ['\u{e0041}', '\\u{e0041}'],
  ['half \ud83d', 'half \\ud83d'],
  ['Grüße 退款 👩‍🚀', 'Grüße 退款 👩‍🚀'],
])('%j is shown as %s', (text, shown) => {
  expect(safeText(text)).toBe(shown);
  expect(fromSafeText(shown)).toBe(text);
});

const seen = /^[^\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]*$/u;

test('whatever the text, nothing that acts on a terminal is left, and JSON keeps its value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(safeText(text)).toMatch(seen);
      for (const line of safeLines(text)) expect(line).toMatch(seen);
      expect(safeJson({ text })).toMatch(seen);
      expect(JSON.parse(safeJson({ text }))).toEqual({ text });
    }),
  );
});
