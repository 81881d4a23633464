/**
 * Text of tools and models is shown, never obeyed. Characters that a terminal or page would act on, or that would
 * mislead a reader, are escaped. `text-marks.ts` defines which characters those are.
 */
import type { TextPiece } from './text-marks.ts';
import { createTextMarks, createTextPatterns } from './text-marks.ts';

const { findMarks, escapeText, splitText } = createTextMarks(createTextPatterns());

/** The text on one line, safe to show. */
export const safeText = (text: string): string => replaceMarks(text, escapeText);

/** The same in pieces, for pages: escapes can be styled, and each piece keeps its own direction. */
export const textPieces = (text: string): readonly TextPiece[] => splitText(text);

/** Three spaces or more are written as a count: they could push text to where a reader expects another line. */
const countSpaces = (text: string): string => text.replaceAll(/ {3,}/g, (run) => `\\u0020×${run.length}`);

/** Signs that a chat program or a page could read as a link, a mention, code or markup. */
const markup = /[<>`]|\](?=[([:])|!(?=\[)/g;

/** Foreign text as one visible line, wherever the program that shows it is not ours: chat, mail, questions in clients. */
export const visibleText = (text: string): string => countSpaces(safeText(text));

/** The same for text of a model or a tool: nothing in it acts as markup or reorders its neighbours. */
export const visibleForeignText = (text: string): string =>
  countSpaces(escapeRightToLeft(text).replaceAll(markup, escapeText));

/** One word that can be mistaken for nothing else: no blank, no quote, and no colon or full stop at its end. */
const plainWord = /^(?:\[REDACTED\]|[\p{L}\p{N}_@#$%+~/.,:;=?&()*'!-]*[\p{L}\p{N}_@#$%+~/=?&()*!-])$/u;

/**
 * A value inside a sentence or a list: as it is if it is one plain word, else in quotes. So it cannot imitate a label, the
 * words around it, or another value.
 */
export function visibleValue(value: string): string {
  const shown = visibleForeignText(value);
  return shown === value &&
    plainWord.test(value) &&
    !/[:=,;]/.test(value.replace(/^[a-z][a-z0-9+.-]*:\/\/[^\s:/]*(?::\d+)?/i, ''))
    ? value
    : `"${shown.replaceAll('"', '\\"')}"`;
}

/** JSON on one visible line. */
export const visibleJson = (value: unknown): string => visibleForeignText(JSON.stringify(value) ?? 'null');

/** Reverses `safeText`, because people copy what they see. */
export const fromSafeText = (text: string): string =>
  text.replace(
    /\\(?:([nrt])|u([\da-f]{4})|u\{([\da-f]{1,6})\})/g,
    (written, letter: string, unit: string, point: string) =>
      letter
        ? (long[letter] ?? written)
        : String.fromCodePoint(Math.min(Number.parseInt(unit ?? point, 16), 0x10ffff)),
  );

const long: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** The same for text whose lines and indents should stay visible. */
export const safeLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => safeText(line.replaceAll('\t', '  ')));

/** JSON on one line that is safe to show and keeps every value. */
export const safeJson = (value: unknown): string => escapeJson(JSON.stringify(value) ?? 'null');

/** JSON text with every invisible character as a JSON escape: it parses to the same value. */
export const escapeJson = (json: string): string => replaceMarks(json, toUnits);

/** Escapes letters that are read from right to left: a terminal may reorder amounts next to them. */
export const escapeRightToLeft = (text: string): string =>
  splitText(text)
    .map((piece) => (piece.kind === 'right-to-left' ? escapeText(piece.text) : piece.text))
    .join('');

/** Includes lone surrogates and code points above U+FFFF: JSON has no other escape for them. */
const toUnits = (found: string): string =>
  Array.from({ length: found.length }, (_, index) => hex(found.charCodeAt(index))).join('');

const hex = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;

function replaceMarks(text: string, write: (found: string) => string): string {
  const marks = findMarks(text);
  if (marks.length === 0) return text;
  let shown = '';
  let at = 0;
  for (const [from, to] of marks) {
    shown += text.slice(at, from) + write(text.slice(from, to));
    at = to;
  }
  return shown + text.slice(at);
}
