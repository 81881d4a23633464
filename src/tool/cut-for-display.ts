import { cutText } from '../base/cut-text.ts';

/** What a person decides by, at most so long. Whoever decides must know that there is more than is shown. */
export const cutForDisplay = (text: string, length: number): string =>
  text.length <= length
    ? text
    : `${cutText(text, length)}\n[only ${length} of ${text.length} characters are shown]`;

/** How much of such a text there was; undefined where it is whole. */
export function readCut(text: string): { readonly shown: number; readonly of: number } | undefined {
  const [, shown, of] = /\n\[only (\d{1,9}) of (\d{1,12}) characters are shown\]$/.exec(text) ?? [];
  return shown === undefined || of === undefined ? undefined : { shown: Number(shown), of: Number(of) };
}
