/** A piece of text that people read, as found in a file. */
export type Prose = {
  readonly kind: 'comment' | 'string' | 'docs' | 'heading';
  /** Newlines as in the file, so that lines can be counted. */
  readonly text: string;
  /** The line on which `text` begins, counted from 1. */
  readonly line: number;
};

/** Stands for a piece of code or a value in prose. It counts as one word. */
export const codeMark = '§';

/** Stands for an escaped newline in a string literal. */
export const paragraphMark = '\u2029';

/** Replaces code in backticks, links to symbols and URLs by the mark. */
export function withoutCode(text: string): string {
  return text
    .replaceAll(/(`+)(?:(?!\1)[^])+?\1/g, blank)
    .replaceAll(/\{@link[^}]*\}/g, blank)
    .replaceAll(/\bhttps?:\/\/[^\s)>]+/g, blank);
}

/** Keeps the length and the newlines, so that indices and line numbers stay right. */
function blank(found: string): string {
  return codeMark + found.slice(1).replaceAll(/[^\n]/g, ' ');
}
