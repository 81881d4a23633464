/**
 * Makes foreign text safe for the terminal. Right-to-left letters could reorder the amounts next to them, and a
 * terminal cannot isolate them. They are therefore escaped.
 */
import { safeId as shownId, safeSentence } from '../base/safe-id.ts';
import { escapeRightToLeft } from '../base/safe-text.ts';

export { fromSafeText, safeJson } from '../base/safe-text.ts';
export { isShownAs, safeSentence } from '../base/safe-id.ts';

/** The text on one line, safe to show. A sentence may name an id that looks like a secret: that part is masked. */
export const terminalText = (text: string): string => escapeRightToLeft(safeSentence(text));

/** A part of what is approved, as the ledger keeps it. The redactor has hidden what is to be hidden. */
export const exactTerminalText = (text: string): string => escapeRightToLeft(text);

/** The same for text whose lines and indents should be seen as such. */
export const terminalLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => exactTerminalText(line.replaceAll('\t', '  ')));

/** An id on one line: masked where it looks like a secret. */
export const terminalId = (id: string): string => escapeRightToLeft(shownId(id));
