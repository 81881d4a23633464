/**
 * Reads command lines. This is the only reader of shell text: sandbox rules, the protection of own files and the search
 * for secrets use it.
 *
 * A text is readable if it is a simple command, or several joined by `|` and `&&`, and every word is literal. Then a
 * POSIX shell runs exactly these words. Quotes may surround any part of a word. A redirection names one literal file, or
 * copies one stream to another (`2>&1`).
 *
 * Everything else is unreadable: variables, substitutions, patterns, braces, `~`, comments, other operators, control
 * characters, line breaks, backslashes outside of quotes. The reader still returns the words of an unreadable text as
 * far as it can, with `expands` set on words that a shell may replace. Those words are good for finding something that
 * must be hidden or kept away. They never show that a command is harmless.
 */

export type CommandWord = {
  /** Without quotes. Escapes inside of quotes are removed. */
  readonly text: string;
  readonly isQuoted: boolean;
  /** A shell may replace it by other text. Never true in a readable command. */
  readonly expands: boolean;
  /** Position in the source of the character of `text` at this index. */
  readonly placeOf: (index: number) => number;
};

export type SimpleCommand = {
  readonly words: readonly CommandWord[];
  /** The files that redirections name. */
  readonly files: readonly CommandFile[];
};

export type CommandFile = { readonly word: CommandWord; readonly written: boolean };

export type CommandText = {
  readonly commands: readonly SimpleCommand[];
  /** Is it certain that a shell runs exactly these words? */
  readonly readable: boolean;
};

type ReadOptions = {
  /** In prose an apostrophe is not a quote, so a quote counts only if the line has its other half. */
  readonly prose?: boolean;
};

/** A longer text is not written by hand. */
const longestReadable = 32_768;
/** More commands in one line than people write by hand. */
const mostCommands = 50;
/** Only the start of a longer word is kept. */
const longestWord = 16_384;
/** A command with more words is read as several. */
const mostWords = 10_000;

/** Control characters and line ends: shells and terminals disagree about them. Half characters reach no program. */
// oxlint-disable-next-line eslint/no-control-regex -- they are what is looked for
const strange = /[\0-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]|\p{Cs}/u;

/** Words of the shell's grammar: as the first word they are not a program. */
const reservedWords: ReadonlySet<string> = new Set(
  '! [[ ]] case coproc do done elif else esac fi for foreach function if in nocorrect repeat select then time until while'.split(
    ' ',
  ),
);

export function readCommandText(text: string): CommandText {
  const commands: SimpleCommand[] = [];
  let readable = text.length <= longestReadable && !strange.test(text);
  let joint: ReadSimpleCommand['joint'];
  let at = 0;
  do {
    const read = readSimpleCommand(text, at);
    const { words, files } = read.command;
    if (words.length > 0 || files.length > 0) commands.push(read.command);
    readable &&= read.readable && words.length > 0 && (read.joint !== undefined || read.end >= text.length);
    ({ joint, end: at } = read);
  } while (at < text.length);
  return { commands, readable: readable && joint === undefined && commands.length <= mostCommands };
}

/** The command as the words of a list, for tools that pass them to the program without a shell. */
export function toCommandText(words: readonly string[]): CommandText {
  const readable =
    words.length > 0 &&
    words[0] !== '' &&
    words.every((word) => word.length <= longestReadable && !strange.test(word));
  return { commands: [{ words: words.map(toWord), files: [] }], readable };
}

const toWord = (text: string): CommandWord => ({
  text,
  isQuoted: true,
  expands: false,
  placeOf: (index) => index,
});

export type ReadSimpleCommand = {
  readonly command: SimpleCommand;
  /** Start of the next command. */
  readonly end: number;
  /** The operator before the next command, if it is one that a readable text may have. */
  readonly joint: '|' | '&&' | undefined;
  readonly readable: boolean;
};

/** Reads one command up to the operator that ends it. */
export function readSimpleCommand(text: string, from: number, options: ReadOptions = {}): ReadSimpleCommand {
  const words: CommandWord[] = [];
  const files: CommandFile[] = [];
  let readable = true;
  let redirect: { readonly written: boolean } | undefined;
  let at = from;
  const done = (end: number, joint?: '|' | '&&'): ReadSimpleCommand => {
    const first = words[0]?.text ?? '';
    // `sh -c -x` takes its command as an option. Interactive shells replace `^a^b` by the last command with a change.
    if (redirect !== undefined || reservedWords.has(first) || /^[-+^]/.test(first)) readable = false;
    return { command: { words, files }, end, joint, readable };
  };
  for (;;) {
    while (isBlank(text, at)) at++;
    if (at >= text.length || words.length >= mostWords) return done(at);
    if (text.startsWith('\\\n', at)) {
      readable = false;
      at += 2;
      continue;
    }
    const unit = text.charAt(at);
    if (isEnd(unit)) {
      const joint = /^(?:&&|\|)(?![|&])/.exec(text.slice(at, at + 3))?.[0] as '|' | '&&' | undefined;
      if (joint === undefined) readable = false;
      return done(at + (joint?.length ?? 1), joint);
    }
    if (unit === '<' || unit === '>') {
      // A file descriptor directly before the operator belongs to it.
      const before = words.at(-1);
      const isDescriptor =
        before !== undefined && /^\d$/.test(before.text) && !before.isQuoted && before.placeOf(0) === at - 1;
      if (isDescriptor) words.pop();
      else if (
        before !== undefined &&
        /^\d+$/.test(before.text) &&
        before.placeOf(0) + before.text.length === at
      )
        readable = false;
      // zsh reads `<1-20>` as a range of numbers.
      if (/^<\d*-\d*>/.test(text.slice(at, at + 48))) readable = false;
      const operator = /^(?:[<>]&\d(?=[ \t|]|$)|>>?(?![>&|(<])|<(?![<>&(]))/.exec(
        text.slice(at, at + 4),
      )?.[0];
      if (operator === undefined || redirect !== undefined || words.length === 0) readable = false;
      const length = operator?.length ?? /^[<>&|(]+/.exec(text.slice(at))?.[0].length ?? 1;
      redirect = operator?.includes('&') === true ? undefined : { written: unit === '>' };
      at += length;
      continue;
    }
    const word = readWord(text, at, options.prose === true);
    // Without a text it names neither a program nor a file.
    const mayBeEmpty = redirect === undefined && words.length > 0;
    if (!word.literal || (word.text === '' && !mayBeEmpty)) readable = false;
    if (redirect === undefined) words.push(word);
    else {
      if (isSpecialFile.test(word.text)) readable = false;
      files.push({ word, written: redirect.written });
    }
    redirect = undefined;
    at = word.end;
  }
}

/** bash and ksh connect to a host at `/dev/tcp/host/80`. In zsh `>!` is an operator. */
const isSpecialFile = /^\/dev\/(?:tcp|udp|sctp)\/|^!/;

const isBlank = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x09;
};

/** `;`, `|`, `&`, line breaks, parentheses and backquotes end a command. */
const isEnd = (unit: string): boolean => unit !== '' && ';|&()`\n\r'.includes(unit);

type ReadWord = CommandWord & {
  readonly end: number;
  /** Does a shell take exactly this text? */
  readonly literal: boolean;
};

/** Characters that no shell gives a meaning inside of a word. */
const ordinary = /[A-Za-z0-9_./:@%+,^-]+/y;
const foreignLetter = /[\p{L}\p{N}\p{M}]/u;

function readWord(text: string, from: number, prose: boolean): ReadWord {
  ordinary.lastIndex = from;
  const run = ordinary.exec(text)?.[0] ?? '';
  const next = from + run.length;
  if (run !== '' && (next === text.length || isBlank(text, next)))
    return {
      text: run.length > longestWord ? run.slice(0, longestWord) : run,
      isQuoted: false,
      expands: false,
      placeOf: (index) => from + index,
      end: next,
      literal: run.length <= longestWord,
    };
  return new WordReading(text, from, prose).read();
}

class WordReading {
  readonly #source: string;
  readonly #from: number;
  readonly #prose: boolean;
  #text = '';
  readonly #places: number[] = [];
  #isQuoted = false;
  #expands = false;
  #literal = true;

  constructor(source: string, from: number, prose: boolean) {
    this.#source = source;
    this.#from = from;
    this.#prose = prose;
  }

  read(): ReadWord {
    const source = this.#source;
    let at = this.#from;
    while (at < source.length) {
      const unit = source.charAt(at);
      if (isBlank(source, at) || isEnd(unit) || (/[<>]/.test(unit) && at > this.#from)) break;
      at = this.#readAt(at, unit);
    }
    const places = this.#places;
    return {
      text: this.#text,
      isQuoted: this.#isQuoted,
      expands: this.#expands,
      placeOf: (index) => places[index] ?? this.#from,
      end: Math.max(at, this.#from + 1),
      literal: this.#literal,
    };
  }

  #readAt(at: number, unit: string): number {
    if (unit === "'" || unit === '"') {
      const end = closingQuote(this.#source, at, this.#prose);
      if (end >= 0) return this.#readQuoted(at, end, unit);
      this.#literal = false;
      return this.#take(at);
    }
    if (unit === '\\') {
      this.#literal = false;
      const next = this.#source.charAt(at + 1);
      return next === '' || next === '\n' || next === '\r' ? at + 1 + next.length : this.#take(at + 1);
    }
    ordinary.lastIndex = at;
    const run = ordinary.exec(this.#source)?.[0];
    if (run !== undefined) {
      for (let inner = 0; inner < run.length; inner++) this.#take(at + inner);
      return at + run.length;
    }
    // zsh expands `''~` too.
    const isFirst = this.#text === '';
    const before = this.#source.charAt(at - 1);
    switch (unit) {
      case '=':
        // Some shells replace `=ls` by the path of the program.
        if (isFirst) this.#doubt();
        break;
      case '~':
        if (isFirst || before === '=' || before === ':') this.#doubt();
        break;
      case '#':
        if (isFirst) this.#literal = false;
        break;
      case '!':
        // Interactive shells replace `!x` by an earlier command.
        if (/[^\s|&]/.test(this.#source.charAt(at + 1))) this.#literal = false;
        break;
      default:
        if (/[$*?[\]{}]/.test(unit)) this.#doubt();
        else if (!this.#isForeignLetter(at)) this.#literal = false;
    }
    return this.#take(at);
  }

  #isForeignLetter(at: number): boolean {
    // The second half of a surrogate pair belongs to the first.
    const isSecondHalf = /[\udc00-\udfff]/.test(this.#source.charAt(at));
    const letter = this.#source.codePointAt(isSecondHalf ? at - 1 : at);
    return letter !== undefined && letter > 0x7f && foreignLetter.test(String.fromCodePoint(letter));
  }

  #doubt(): void {
    this.#literal = false;
    this.#expands = true;
  }

  #readQuoted(at: number, end: number, quote: string): number {
    this.#isQuoted = true;
    for (let inner = at + 1; inner < end; inner++) {
      const unit = this.#source.charAt(inner);
      const next = this.#source.charAt(inner + 1);
      if (quote === '"') {
        if (unit === '\\' && /["\\$`]/.test(next)) inner++;
        // Before the closing quote a dollar is an ordinary character.
        else if (unit === '`' || (unit === '$' && inner + 1 < end)) this.#doubt();
        else if (unit === '!' && inner + 1 < end && !/[\s=]/.test(next)) this.#literal = false;
      }
      this.#take(inner);
    }
    return end + 1;
  }

  #take(at: number): number {
    if (this.#places.length < longestWord) {
      this.#text += this.#source.charAt(at);
      this.#places.push(at);
    } else this.#literal = false;
    return at + 1;
  }
}

function closingQuote(text: string, at: number, prose: boolean): number {
  const quote = text.charAt(at);
  for (let end = at + 1; end < text.length; end++) {
    const unit = text.charAt(end);
    if (unit === quote) return end;
    if (unit === '\\' && quote === '"') end++;
    if (prose && (unit === '\n' || end - at > longestWord)) return -1;
  }
  return -1;
}

/** Variables that neither choose a program nor load code: `NODE_ENV=test npm test`. */
export const harmlessVariables: ReadonlySet<string> = new Set(
  (
    'CI NODE_ENV FORCE_COLOR NO_COLOR CLICOLOR CLICOLOR_FORCE DEBUG LANG LC_ALL TZ TERM COLUMNS LINES RUST_BACKTRACE ' +
    'RUST_LOG LOG_LEVEL PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE CGO_ENABLED GOOS GOARCH PORT APP_ENV RAILS_ENV ' +
    'RACK_ENV MIX_ENV FLASK_ENV AWS_REGION AWS_DEFAULT_REGION TEST_TIMEOUT VITEST_MAX_WORKERS NODE_NO_WARNINGS'
  ).split(' '),
);

/** The words from the program on. Undefined if a variable before it is not harmless, or nothing follows. */
export function programWords({ words }: SimpleCommand): readonly string[] | undefined {
  const start = words.findIndex(({ text }) => !text.includes('='));
  const isHarmless = ({ text, isQuoted }: CommandWord): boolean => {
    const name = /^([A-Za-z_]\w*)=[\w.,:@%+-]*$/.exec(text)?.[1];
    return name !== undefined && !isQuoted && harmlessVariables.has(name);
  };
  return start >= 0 && words.slice(0, start).every(isHarmless)
    ? words.slice(start).map(({ text }) => text)
    : undefined;
}
