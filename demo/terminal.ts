import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** How wide the page is: the terminal, or 100 columns where there is none. */
export const pageWidth = (): number => Math.min(Math.max(process.stdout.columns ?? 100, 60), 220);

/** Colour on a terminal only; `styleText` leaves it out where NO_COLOR asks for that. */
export const paint = (style: Style, text: string): string =>
  process.stdout.isTTY && process.env['TERM'] !== 'dumb' ? styleText(style, text) : text;

/** Text in exactly so many columns: cut with an ellipsis, or filled with blanks. */
export function fit(text: string, width: number): string {
  const characters = Array.from(text);
  if (characters.length > width) return `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
  return text + ' '.repeat(width - characters.length);
}

/** The same without the blanks, for the end of a line. */
export const trim = (text: string, width: number): string => fit(text, width).trimEnd();

/** Lines of words, none longer than the width. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
