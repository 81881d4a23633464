/** Text in columns: its width on a terminal, cutting, padding and wrapping. */

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f1e6}-\u{1f1ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const narrow = /^[\x20-\x7e\u00a1-\u02ff\u0370-\u03ff\u2010-\u2027\u2500-\u259f]*$/;
const nothing = /^[\p{Mn}\p{Me}\p{Cf}]*$/u;

/** Characters as people perceive them. */
const characters = (text: string): string[] =>
  Array.from(new Intl.Segmenter('en').segment(text), ({ segment }) => segment);

const widthOfCharacter = (character: string): number =>
  wide.test(character) ? 2 : nothing.test(character) ? 0 : 1;

/** Number of columns the text takes. */
export const textWidth = (text: string): number =>
  narrow.test(text)
    ? text.length
    : characters(text).reduce((width, character) => width + widthOfCharacter(character), 0);

/** Text of at most this width, ending in an ellipsis if it was cut. */
export function trim(text: string, width: number): string {
  if (textWidth(text) <= width) return text.trimEnd();
  let taken = '';
  let left = width - 1;
  for (const character of characters(text)) {
    left -= widthOfCharacter(character);
    if (left < 0) break;
    taken += character;
  }
  return width < 1 ? '' : `${taken}…`;
}

/** Text of exactly this width: cut with an ellipsis, or padded with blanks. */
export function fit(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const cut = trim(text, width);
  const blanks = ' '.repeat(Math.max(0, width - textWidth(cut)));
  return align === 'left' ? cut + blanks : blanks + cut;
}

/** Lines of words within the width; a longer word is broken. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((each) => breakText(each, width))) {
    if (line !== '' && textWidth(line) + 1 + textWidth(word) > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Pieces of at most this width, without regard to words. */
export function breakText(word: string, width: number): string[] {
  if (textWidth(word) <= width) return [word];
  const pieces: string[] = [];
  let piece = '';
  let left = width;
  for (const character of characters(word)) {
    const columns = widthOfCharacter(character);
    if (columns > left && piece !== '') {
      pieces.push(piece);
      piece = '';
      left = width;
    }
    piece += character;
    left -= columns;
  }
  return [...pieces, piece];
}
