/**
 * A command text split as far as possible: every simple command in it with its words. Unlike command-line.ts this
 * never gives up. It serves a deny list, where every readable word is one more that is checked.
 */

export type CommandPiece = {
  /** Quotes and escapes are removed. */
  readonly words: readonly string[];
  /** Words after `>`, `>>` and the like. */
  readonly writesTo: readonly string[];
};

export type ReadCommand = {
  readonly pieces: readonly CommandPiece[];
  /** The output of one piece may become an argument of another: `xargs`, `$(…)`, `eval`. */
  readonly feedsArguments: boolean;
};

/** For commands inside commands, such as `sh -c "…"`. */
const deepest = 4;
const mostWords = 4_000;

export function readCommandPieces(text: string, depth = 0): ReadCommand {
  const pieces: CommandPiece[] = [];
  let words: string[] = [];
  let writesTo: string[] = [];
  let word: string | undefined;
  /** The word with its backslashes, in case they separate the components of a path. */
  let withBackslashes: string | undefined;
  let redirects = false;
  let feedsArguments = /\$\(|`|\b(?:xargs|eval|parallel)\b/.test(text);
  const endWord = (): void => {
    if (word === undefined) return;
    const target = redirects ? writesTo : words;
    target.push(word);
    if (withBackslashes !== undefined) target.push(withBackslashes);
    redirects = false;
    word = undefined;
    withBackslashes = undefined;
  };
  const add = (piece: string, spelled = piece): void => {
    if (withBackslashes !== undefined || spelled !== piece)
      withBackslashes = (withBackslashes ?? word ?? '') + spelled;
    word = (word ?? '') + piece;
  };
  const endPiece = (): void => {
    endWord();
    if (words.length > 0 || writesTo.length > 0) pieces.push({ words, writesTo });
    words = [];
    writesTo = [];
    redirects = false;
  };
  const nest = (inner: string): void => {
    if (depth >= deepest || !/[\s;&|<>()`$]/.test(inner)) return;
    const nested = readCommandPieces(inner, depth + 1);
    feedsArguments ||= nested.feedsArguments;
    pieces.push(...nested.pieces);
  };
  for (let at = 0; at < text.length && words.length < mostWords; at++) {
    const unit = text.charAt(at);
    if (unit === "'" || unit === '"') {
      const quoted = readQuoted(text, at + 1, unit);
      // `$'…'` contains escapes such as `\\x2e`.
      const hasEscapes = unit === "'" && word?.endsWith('$') === true;
      if (hasEscapes) word = word?.slice(0, -1);
      const inner = hasEscapes ? decodeEscapes(quoted.text) : quoted.text;
      add(inner);
      nest(inner);
      at = quoted.end;
    } else if (unit === '\\') {
      const next = text.charAt(++at);
      if (next !== '\n') add(next, /[a-z0-9._-]/i.test(next) ? `\\${next}` : next);
    } else if (unit === ' ' || unit === '\t') endWord();
    else if (unit === '$' && text.charAt(at + 1) === '(') endPiece();
    else if (unit === '<' || unit === '>') {
      // A number in front is a file descriptor.
      if (word !== undefined && /^\d+$/.test(word)) word = undefined;
      endWord();
      redirects = unit === '>';
      while (/[<>&|]/.test(text.charAt(at + 1))) at++;
    } else if (/[;&|()`\n\r]/.test(unit)) endPiece();
    else add(unit);
  }
  endPiece();
  return { pieces, feedsArguments };
}

/** The same for a command given as a list of words. */
export function readWordList(list: readonly string[]): ReadCommand {
  const nested = list.map((word) => (/\s/.test(word) ? readCommandPieces(word, 1) : undefined));
  return {
    pieces: [{ words: list, writesTo: [] }, ...nested.flatMap((command) => command?.pieces ?? [])],
    feedsArguments:
      list.some((word) => /^(?:xargs|eval|parallel)$/.test(word)) ||
      nested.some((command) => command?.feedsArguments === true),
  };
}

const decodeEscapes = (text: string): string =>
  text.replace(
    /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|([0-7]{1,3})|(.))/gi,
    (_, hex, unicode, octal, other) => decodeEscape(hex ?? unicode, octal, other),
  );

const decodeEscape = (
  hex: string | undefined,
  octal: string | undefined,
  other: string | undefined,
): string => {
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
  if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
  return other ?? '';
};

function readQuoted(
  text: string,
  start: number,
  quote: string,
): { readonly text: string; readonly end: number } {
  let quoted = '';
  for (let at = start; at < text.length; at++) {
    const unit = text.charAt(at);
    if (unit === quote) return { text: quoted, end: at };
    if (quote === '"' && unit === '\\' && /[$`"\\\n]/.test(text.charAt(at + 1))) quoted += text.charAt(++at);
    else quoted += unit;
  }
  return { text: quoted, end: text.length };
}
