/** The words of a command line as a shell reads them, each with the positions of its characters in the text. */

export type CommandWord = {
  /** Without quotes and backslashes. */
  readonly text: string;
  /** Position in the command line of the character of `text` at this index. */
  readonly placeOf: (index: number) => number;
  readonly isQuoted: boolean;
};

export type CommandWords = {
  readonly words: readonly CommandWord[];
  /** Start of the next command. */
  readonly end: number;
};

/** Only the start of a longer word is examined. */
const longestWord = 16_384;
/** A command with more words is read as several. */
const mostWords = 10_000;

const isBlank = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x09;
};

/** `;`, `|`, `&`, line breaks, parentheses and backquotes end a command. */
const isEnd = (text: string, at: number): boolean => {
  switch (text.charCodeAt(at)) {
    case 0x0a:
    case 0x0d:
    case 0x26:
    case 0x28:
    case 0x29:
    case 0x3b:
    case 0x60:
    case 0x7c:
      return true;
    default:
      return false;
  }
};

/**
 * Reads one command up to its end. In prose an apostrophe is not a quote, so with `sameLine` a quote counts only if
 * the line has its other half.
 */
export function readCommand(text: string, from: number, sameLine: boolean): CommandWords {
  const words: CommandWord[] = [];
  let at = from;
  for (;;) {
    while (at < text.length && isBlank(text, at)) at++;
    if (text.startsWith('\\\n', at)) at += 2;
    else if (at >= text.length || words.length >= mostWords) return { words, end: at };
    else if (isEnd(text, at)) return { words, end: at + 1 };
    else {
      const [word, end] = readWord(text, at, sameLine);
      words.push(word);
      at = end;
    }
  }
}

/** Characters that need no separate handling: no space, quote or backslash, nothing that ends a command. */
const plainRun = /[^ \t\n\r&();`|"'\\]+/y;

function readWord(text: string, from: number, sameLine: boolean): readonly [CommandWord, end: number] {
  plainRun.lastIndex = from;
  const run = plainRun.exec(text)?.[0] ?? '';
  const next = from + run.length;
  if (run !== '' && (next === text.length || isBlank(text, next) || isEnd(text, next)))
    return [{ text: run.slice(0, longestWord), placeOf: (index) => from + index, isQuoted: false }, next];
  return readQuotedWord(text, from, sameLine);
}

function readQuotedWord(text: string, from: number, sameLine: boolean): readonly [CommandWord, end: number] {
  let word = '';
  const places: number[] = [];
  let isQuoted = false;
  const take = (at: number): void => {
    if (places.length >= longestWord) return;
    word += text.charAt(at);
    places.push(at);
  };
  let at = from;
  while (at < text.length) {
    const character = text.charAt(at);
    if (isBlank(text, at) || isEnd(text, at)) break;
    const end = character === '"' || character === "'" ? closingQuote(text, at, sameLine) : -1;
    if (end !== -1) {
      isQuoted = true;
      for (let inner = at + 1; inner < end; inner++) {
        if (character === '"' && text.charAt(inner) === '\\' && /["\\$`]/.test(text.charAt(inner + 1)))
          inner++;
        take(inner);
      }
      at = end + 1;
    } else if (character === '\\' && at + 1 < text.length && !/[\r\n]/.test(text.charAt(at + 1))) {
      take(at + 1);
      at += 2;
    } else {
      take(at);
      at++;
    }
  }
  return [{ text: word, placeOf: (index) => places[index] ?? from, isQuoted }, Math.max(at, from + 1)];
}

function closingQuote(text: string, at: number, sameLine: boolean): number {
  const quote = text.charAt(at);
  for (let end = at + 1; end < text.length; end++) {
    const character = text.charAt(end);
    if (character === quote) return end;
    if (character === '\\' && quote === '"') end++;
    if (sameLine && (character === '\n' || end - at > longestWord)) return -1;
  }
  return -1;
}
