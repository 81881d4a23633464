/**
 * Words for the search over calls: runs of letters and digits, in lower case. Scripts that are written without spaces give
 * one word per character.
 */

const longestWord = 40;
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{N}\p{M}])+/gu;
/** Most texts need no Unicode tables. */
const plainPattern = /[a-z0-9]+/g;
const isPlain = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** The words of a text in their order. */
export function wordsOf(text: string): readonly string[] {
  const lower = text.toLowerCase();
  const found = lower.match(isPlain(lower) ? plainPattern : wordPattern) ?? [];
  return found.map((word) => (word.length > longestWord ? cutWord(word) : word));
}

/** Never splits a character. */
const cutWord = (word: string): string => word.slice(0, longestWord).replace(/[\uD800-\uDBFF]$/, '');
