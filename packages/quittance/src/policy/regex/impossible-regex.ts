/**
 * Detects some patterns that match nothing. Sound, not complete: it reads only the top level of a pattern, so
 * `undefined` says nothing about the pattern.
 */

/** People do not write longer patterns by hand. */
const longest = 2_000;

/** One piece of a pattern. `consumes`: a match must use at least one character for it. */
type Piece = { readonly text: string; readonly kind: 'start' | 'end' | 'none' | 'consumes' | 'unknown' };

export function whyRegexImpossible(pattern: string): string | undefined {
  const pieces = readPieces(pattern);
  if (pieces === undefined) return undefined;
  const never = pieces.find(({ kind }) => kind === 'none');
  if (never !== undefined) return `${never.text} matches no character`;
  const firstConsuming = pieces.findIndex(({ kind }) => kind === 'consumes');
  const lastConsuming = pieces.findLastIndex(({ kind }) => kind === 'consumes');
  if (firstConsuming < 0) return undefined;
  const start = pieces.findLastIndex(({ kind }) => kind === 'start');
  if (start > firstConsuming) return `${pieces[start]?.text} comes after a part that must match before it`;
  const end = pieces.findIndex(({ kind }) => kind === 'end');
  if (end >= 0 && end < lastConsuming)
    return `${pieces[end]?.text} comes before a part that must match after it`;
  return undefined;
}

/** Undefined if alternatives, flags or comments could change the meaning. */
function readPieces(pattern: string): readonly Piece[] | undefined {
  // `(?m)` changes the meaning of ^ and $, `(?x)` that of characters; `\Q` quotes.
  if (pattern.length > longest) return undefined;
  if (pattern.includes('(?') || pattern.includes('\\Q')) return undefined;
  const pieces: Piece[] = [];
  for (let at = 0; at < pattern.length;) {
    const atom =
      /^(?:\\[pP]\{[^}]*\}|\\x\{[^}]*\}|\\x[\da-fA-F]{2}|\\[0-7]{1,3}|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]|[\s\S])/u.exec(
        pattern.slice(at),
      )?.[0];
    if (atom === undefined) return undefined;
    if (atom === '|') return undefined;
    if (atom === '(') {
      const end = findGroupEnd(pattern, at);
      if (end === undefined) return undefined;
      at = end;
    } else at += atom.length;
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(pattern.slice(at))?.[0] ?? '';
    at += quantifier.length;
    const optional = /^(?:\*|\?|\{0)/.test(quantifier);
    pieces.push({ text: atom, kind: optional ? 'unknown' : kindOf(atom) });
  }
  return pieces;
}

function kindOf(atom: string): Piece['kind'] {
  if (atom === '^' || atom === '\\A') return 'start';
  if (atom === '$' || atom === '\\z') return 'end';
  if (/^\[\^(?:\\s\\S|\\S\\s|\\d\\D|\\D\\d|\\w\\W|\\W\\w)\]$/.test(atom)) return 'none';
  // Groups are not analysed, and an escape may be a boundary, a class or part of a code.
  if (atom === '(' || atom === ')') return 'unknown';
  if (atom.startsWith('\\')) return /^\\[dDsSwW.\-/^$*+?()[\]{}|\\]$/.test(atom) ? 'consumes' : 'unknown';
  return 'consumes';
}

/** The position after the `)` of the group that begins at `start`. */
function findGroupEnd(pattern: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < pattern.length; at++) {
    const unit = pattern[at];
    if (unit === '\\') at++;
    // A parenthesis inside a set is not a group. This function does not tell them apart, so it gives up.
    else if (unit === '[') return undefined;
    else if (unit === '(') depth++;
    else if (unit === ')' && --depth === 0) return at + 1;
  }
  return undefined;
}
