import { cutText } from '../base/cut-text.ts';

/** Shortens a text that a person decides by. The person must know that there is more than is shown. */
export const cutForDisplay = (text: string, length: number): string =>
  text.length <= length
    ? text
    : `${cutText(text, length)}\n[only ${length} of ${text.length} characters are shown]`;

/** The shown and full length of such a text; undefined if it is complete. */
export function readCut(text: string): { readonly shown: number; readonly of: number } | undefined {
  const [, shown, of] = /\n\[only (\d{1,9}) of (\d{1,12}) characters are shown\]$/.exec(text) ?? [];
  return shown === undefined || of === undefined ? undefined : { shown: Number(shown), of: Number(of) };
}
