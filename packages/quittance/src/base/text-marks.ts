/**
 * Finds characters that a reader would not see, or would mistake for others.
 *
 * `createTextPatterns` and `createTextMarks` refer to nothing outside themselves: the decision page runs their source in
 * a browser, so that page and program mark the same characters.
 */

/** A part of a text: shown as it is, escaped, or read from right to left. */
export type TextPiece = {
  readonly kind: 'plain' | 'escape' | 'right-to-left';
  /** The text to show. */
  readonly text: string;
};

export type TextMarks = {
  /** Every range to escape, half-open, in ascending order. */
  readonly findMarks: (text: string) => readonly (readonly [from: number, to: number])[];
  /** The escaped form of characters, e.g. `\u200b`. */
  readonly escapeText: (text: string) => string;
  /** The text in pieces, each to be isolated from the others. */
  readonly splitText: (text: string) => readonly TextPiece[];
};

export type TextPatterns = Readonly<
  Record<
    'plain' | 'unseen' | 'imitations' | 'alike' | 'strong' | 'distinct' | 'latin' | 'word' | 'rightToLeft',
    RegExp
  >
>;

export function createTextPatterns(): TextPatterns {
  // Texts of only these characters have nothing to mark.
  const plain =
    /^[ -~\u00a1-\u00ac\u00ae-\u012f\u0132-\u02af\u3041-\u3093\u30a1-\u30f6\u4e00-\u9fa5\uac00-\ud7a3]*$/;
  /**
   * Control and format characters, private use, unassigned code points and lone surrogates. Everything
   * default-ignorable (fillers, joiners, variation selectors, tags). Every blank but the space, and blank-looking
   * symbols. Marks that strike through or enclose, marks without a letter below them, and more than four marks on one
   * letter.
   */
  const unseen =
    /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Surrogate}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}\p{Me}\u0334-\u0338\u20d0-\u20ff]+|(?<![\p{L}\p{M}])\p{M}+|(?<=\p{M}{4})\p{M}+/gu;
  /** Punctuation that imitates the signs of paths, URLs and JSON, and letters in unusual styles. */
  const imitations =
    /[\u01c3\u02d0\u0589\u2010\u2011\u2024\u2043\u2044\u2215\u2216\u2223\u2236\u29f5\u29f8\ua789\u02ba\u05f4\u2033\u3003\u2102\u210a-\u2113\u2115\u2119-\u211d\u2124\u2128\u212a-\u212d\u212f-\u2139\u2160-\u217f\ufb00-\ufb06\ufe50-\ufe6b\u{1d400}-\u{1d7ff}]+|(?<=[A-Za-z0-9])[\u3002\uff61\uff02\uff0e\uff0f\uff1a\uff20\uff3c]+(?=[A-Za-z0-9/])/gu;
  /** Letters of other scripts that look like Latin ones or digits, and full-width forms. */
  const alike =
    /[\u0131\u0251\u0261\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b1\u03b3\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5\u03c9\u03f2\u03f3\u0405\u0406\u0408\u0410\u0412\u0415\u0417\u041a\u041c-\u041e\u0420-\u0423\u0425\u042c\u0430\u0435\u0437\u043a\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0474\u0475\u04ae\u04af\u04ba\u04bb\u04c0\u04cf\u04e0\u0500\u0501\u050c\u051a-\u051d\u054f\u0555\u0578\u057d\u0570\u0585\u0581\u0566\u13a0-\u13fd\uab70-\uabbf\uff01-\uff5e]/gu;
  /** Those that count even in a text without Latin letters: no word consists of them alone by chance. */
  const strong =
    /[\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03f2\u03f3\u0405\u0406\u0408\u0410\u0412\u0415\u041a\u041c-\u041e\u0420-\u0423\u0425\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u04cf\u0501\u051b\u051d]/u;
  /** Letters that look like no Latin one: a text with one of them is written in that script. */
  const distinct = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/gu;
  /** A Latin letter, or a letter between digits. */
  const latin = /[A-Za-z\u00c0-\u024f]|\d\D\d/u;
  const word = /[\p{L}\p{M}\p{N}_]+/gu;
  /** Letters that are read from right to left, with single spaces between their words. Digits are separate runs. */
  const rightToLeft =
    /(?:(?!\p{Nd})[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}])+(?: (?:(?!\p{Nd})[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}])+)*|(?:(?=\p{Nd})[\u0590-\u08ff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}])+/gu;
  return { plain, unseen, imitations, alike, strong, distinct, latin, word, rightToLeft };
}

export function createTextMarks(patterns: TextPatterns): TextMarks {
  const { plain, unseen, imitations, alike, strong, distinct, latin, word, rightToLeft } = patterns;

  const hex = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;
  const short = (character: string): string | undefined =>
    character === '\n' ? '\\n' : character === '\r' ? '\\r' : character === '\t' ? '\\t' : undefined;
  const escapeText = (text: string): string =>
    Array.from(text, (character) => {
      const point = character.codePointAt(0) ?? 0;
      return short(character) ?? (point > 0xffff ? `\\u{${point.toString(16)}}` : hex(point));
    }).join('');

  const rangesOf = (pattern: RegExp, text: string, offset: number): [number, number][] =>
    Array.from(text.matchAll(pattern), (match) => [
      offset + match.index,
      offset + match.index + match[0].length,
    ]);

  function findAlike(text: string): [number, number][] {
    if (text.search(alike) < 0) return [];
    // Only look-alikes of a script: the text is not written in that script, it imitates another.
    const isForeign = Array.from(text.matchAll(distinct)).some(([letter]) => letter.search(alike) < 0);
    const isImitation = !isForeign && strong.test(text);
    return Array.from(text.matchAll(word)).flatMap((match) => {
      const [found] = match;
      return latin.test(found) || (isImitation && strong.test(found))
        ? rangesOf(alike, found, match.index)
        : [];
    });
  }

  function findMarks(text: string): readonly (readonly [number, number])[] {
    if (plain.test(text)) return [];
    const found = [...rangesOf(unseen, text, 0), ...rangesOf(imitations, text, 0), ...findAlike(text)];
    found.sort(([one], [other]) => one - other);
    const merged: [number, number][] = [];
    for (const [from, to] of found) {
      const last = merged.at(-1);
      if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
      else merged.push([from, to]);
    }
    return merged;
  }

  function splitText(text: string): readonly TextPiece[] {
    const pieces: TextPiece[] = [];
    const add = (kind: TextPiece['kind'], piece: string): void => {
      if (piece !== '') pieces.push({ kind, text: piece });
    };
    const addShown = (shown: string): void => {
      let at = 0;
      for (const match of shown.matchAll(rightToLeft)) {
        add('plain', shown.slice(at, match.index));
        add('right-to-left', match[0]);
        at = match.index + match[0].length;
      }
      add('plain', shown.slice(at));
    };
    let at = 0;
    for (const [from, to] of findMarks(text)) {
      addShown(text.slice(at, from));
      add('escape', escapeText(text.slice(from, to)));
      at = to;
    }
    addShown(text.slice(at));
    return pieces;
  }

  return { findMarks, escapeText, splitText };
}
