/**
 * What the command line shows of texts that are not its own. A terminal has no islands for letters that are read from
 * right to left and may reorder the amounts beside them, so they are written out as well.
 */
import { safeId as shownId } from '../base/safe-id.ts';
import { escapeRightToLeft } from '../base/safe-text.ts';

export { fromSafeText, safeJson } from '../base/safe-text.ts';
export { isShownAs, safeSentence } from '../base/safe-id.ts';

/** The text on one line, safe to show. */
export const safeText = (text: string): string => escapeRightToLeft(text);

/** The same for text whose lines and indents should be seen as such. */
export const safeLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => safeText(line.replaceAll('\t', '  ')));

/** An id on one line: masked where it looks like a secret. */
export const safeId = (id: string): string => escapeRightToLeft(shownId(id));
