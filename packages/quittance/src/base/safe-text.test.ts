import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeRightToLeft, fromSafeText, safeJson, safeLines, safeText, textPieces } from './safe-text.ts';

test.each([
  ['\u001b[31mred', '\\u001b[31mred'],
  ['\u009b2J', '\\u009b2J'],
  ['a\r\nb\tc', 'a\\r\\nb\\tc'],
  ['\u202Eevil\u2066', '\\u202eevil\\u2066'],
  ['zero\u200bwidth\ufeff', 'zero\\u200bwidth\\ufeff'],
  ['\u{e0041}', '\\u{e0041}'],
  ['half \ud83d', 'half \\ud83d'],
  ['Grüße 退款 👩🚀 １００円', 'Grüße 退款 👩🚀 １００円'],
  ['astronaut 👩\u200d🚀', 'astronaut 👩\\u200d🚀'],
  ['heart ❤\ufe0f', 'heart ❤\\ufe0f'],
  ['10\u00a0000\u2800\u3164\u115f', '10\\u00a0000\\u2800\\u3164\\u115f'],
  ['\ue000\u{f0000}', '\\ue000\\u{f0000}'],
  ['e\u0301 ve\u0302\u0301', 'e\u0301 ve\u0302\u0301'],
  ['1\u0336', '1\\u0336'],
  ['a\u0336b', 'a\\u0336b'],
  ['o\u0300\u0301\u0302\u0303\u0304\u0305', 'o\u0300\u0301\u0302\u0303\\u0304\\u0305'],
  // A letter of another script among Latin ones, and texts made only of look-alikes.
  ['p\u0430ypal', 'p\\u0430ypal'],
  ['\u0441\u043e\u0440\u0443', '\\u0441\\u043e\\u0440\\u0443'],
  ['1\u041e0', '1\\u041e0'],
  ['\uff50ay', '\\uff50ay'],
  ['evil\u2024com\u2215x', 'evil\\u2024com\\u2215x'],
  ['https\uff1a//evil\u3002com', 'https\\uff1a//evil\\u3002com'],
  ['\u{1d429}ay', '\\u{1d429}ay'],
  // Texts in people's own script stay as they are.
  ['Оплата: 5а, счёт № 7', 'Оплата: 5а, счёт № 7'],
  ['Πληρωμή 100 € α-helix', 'Πληρωμή 100 € α-helix'],
  ['שלום 100, سلام', 'שלום 100, سلام'],
  ['हिन्दी ภาษาไทย Tiếng Việt', 'हिन्दी ภาษาไทย Tiếng Việt'],
  ['使用API（v2）、日本語', '使用API（v2）、日本語'],
])('%j is shown as %s', (text, shown) => {
  expect(safeText(text)).toBe(shown);
  expect(fromSafeText(shown)).toBe(text);
});

const seen = /^[^\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]*$/u;

test('for any text, nothing that acts on a terminal is left, and JSON keeps its value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(safeText(text)).toMatch(seen);
      for (const line of safeLines(text)) expect(line).toMatch(seen);
      expect(safeJson({ text })).toMatch(seen);
      expect(JSON.parse(safeJson({ text }))).toEqual({ text });
    }),
  );
});

test('every default-ignorable code point, control, private use and unusual blank is escaped', () => {
  const hidden =
    /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Surrogate}]|(?! )\p{White_Space}/u;
  const shown: string[] = [];
  // Many in a text, each in its own word: there are a million of them.
  for (let first = 0; first <= 0x10ffff; first += 0x400) {
    const characters = Array.from({ length: 0x400 }, (_, offset) => String.fromCodePoint(first + offset));
    const written = characters
      .flatMap((character) => (hidden.test(character) ? `a${character}b` : []))
      .join(' ');
    const text = safeText(written);
    if (/[^ -~]/.test(text) || fromSafeText(text) !== written) shown.push(`from ${first.toString(16)}`);
  }
  expect(shown).toEqual([]);
});

test('the pieces of a text join to the safe text; words from right to left are separate from digits', () => {
  const drawn = (text: string): readonly (readonly [string, string])[] =>
    textPieces(text).map(({ kind, text: piece }) => [kind, piece]);
  expect(drawn('Pay 100 to \u05d3\u05e0\u05d4 \u05db\u05d4\u05df 200\u200b')).toEqual([
    ['plain', 'Pay 100 to '],
    ['right-to-left', '\u05d3\u05e0\u05d4 \u05db\u05d4\u05df'],
    ['plain', ' 200'],
    ['escape', '\\u200b'],
  ]);
  expect(drawn('\u0661\u0662 \u0663')).toEqual([
    ['right-to-left', '\u0661\u0662'],
    ['plain', ' '],
    ['right-to-left', '\u0663'],
  ]);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(
        drawn(text)
          .map(([, piece]) => piece)
          .join(''),
      ).toBe(safeText(text));
    }),
  );
  expect(escapeRightToLeft('a \u05d0 1')).toBe('a \\u05d0 1');
});
