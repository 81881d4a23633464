import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** How wide the page is: the terminal, or 100 columns where there is none. */
export const pageWidth = (): number => Math.min(Math.max(process.stdout.columns ?? 100, 60), 220);

/** Colour on a terminal only; `styleText` leaves it out where NO_COLOR asks for that. */
export const paint = (style: Style, text: string): string =>
  process.stdout.isTTY && process.env['TERM'] !== 'dumb' ? styleText(style, text) : text;
