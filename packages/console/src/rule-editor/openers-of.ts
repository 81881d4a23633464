/** One line of YAML, as far as an editor needs it: which items and keys start on it, and at which column. */

export type Opener =
  | { readonly type: 'item'; readonly column: number }
  | {
      readonly type: 'key';
      readonly column: number;
      readonly key: string;
      /** The text after the colon, without a comment. */
      readonly value: string;
    };

const keyPattern =
  /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s'"{}[\],#&*!|>%@`-][^#]*?|-[^\s#][^#]*?))\s*:(?=\s|$)/;

/** A key is near the start of its line. */
const longestLine = 1_000;

/** `  - id: a` opens an item at column 2 and the key `id` at column 4. Blank lines and comments open nothing. */
export function openersOf(whole: string): readonly Opener[] {
  const line = whole.slice(0, longestLine);
  const openers: Opener[] = [];
  let column = /^ */.exec(line)?.[0].length ?? 0;
  let rest = line.slice(column);
  for (let dash = /^- */.exec(rest); dash !== null && /^-(?: |$)/.test(rest); dash = /^- */.exec(rest)) {
    openers.push({ type: 'item', column });
    column += dash[0].length;
    rest = rest.slice(dash[0].length);
  }
  const found = keyPattern.exec(rest);
  if (found !== null && !rest.startsWith('#')) {
    const [all, double, single, plain] = found;
    const value = rest.slice(all.length).replace(/(?:^|\s)#.*$/, '');
    openers.push({ type: 'key', column, key: double ?? single ?? plain ?? '', value: value.trim() });
  }
  return openers;
}
