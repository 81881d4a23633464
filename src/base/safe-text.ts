/**
 * Text that tools and models wrote is shown, never obeyed: what a terminal or a page would act on, and what would make a
 * reader see something else than there is, is written out as an escape.
 */

/**
 * Control and escape characters (C0, DEL, C1), line and paragraph separators, directions (bidi), characters without
 * any looks of their own, tags, and halves of characters.
 */
export const unseen: RegExp =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text on one line, safe to show. */
export const safeText = (text: string): string =>
  text.replace(unseen, (found) => short[found] ?? escape(found));

/** What `safeText` showed, read back: people copy what they see. */
export const fromSafeText = (text: string): string =>
  text.replace(
    /\\(?:([nrt])|u([\da-f]{4})|u\{([\da-f]{1,6})\})/g,
    (written, letter: string, unit: string, point: string) =>
      letter
        ? (long[letter] ?? written)
        : String.fromCodePoint(Math.min(Number.parseInt(unit ?? point, 16), 0x10ffff)),
  );

const long: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** The same for text whose lines and indents should be seen as such. */
export const safeLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => safeText(line.replaceAll('\t', '  ')));

/** JSON on one line whose every value is what it was, and that is safe to show. */
export const safeJson = (value: unknown): string =>
  (JSON.stringify(value) ?? 'null').replace(unseen, (found) =>
    Array.from({ length: found.length }, (_, index) => hex(found.charCodeAt(index))).join(''),
  );

const hex = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;

function escape(found: string): string {
  const point = found.codePointAt(0) ?? 0;
  return point > 0xffff ? `\\u{${point.toString(16)}}` : hex(point);
}
