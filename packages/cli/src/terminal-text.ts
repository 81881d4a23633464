/**
 * Makes foreign text safe for the terminal. Right-to-left letters could reorder the amounts next to them, and a
 * terminal cannot isolate them. They are therefore escaped.
 */
import { safeId as shownId, safeSentence } from 'quittance/internal/base/safe-id';
import { escapeRightToLeft } from 'quittance/internal/base/safe-text';

export { fromSafeText, safeJson } from 'quittance/internal/base/safe-text';
export { isShownAs, safeSentence } from 'quittance/internal/base/safe-id';

/** The text on one line, safe to show. Parts that look like a secret id are masked. */
export const terminalText = (text: string): string => escapeRightToLeft(safeSentence(text));

/** A part of what is approved, as stored. The redactor has already hidden secrets. */
export const exactTerminalText = (text: string): string => escapeRightToLeft(text);

/** The same for text with significant lines and indentation. */
export const terminalLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => exactTerminalText(line.replaceAll('\t', '  ')));

/** An id on one line, masked if it looks like a secret. */
export const terminalId = (id: string): string => escapeRightToLeft(shownId(id));
