import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** Width of the page: the terminal's, or 100 columns without one. */
export const pageWidth = (): number => Math.min(Math.max(process.stdout.columns ?? 100, 60), 220);

/** Color only on a terminal; `styleText` respects NO_COLOR. */
export const paint = (style: Style, text: string): string =>
  process.stdout.isTTY && process.env['TERM'] !== 'dumb' ? styleText(style, text) : text;
