/**
 * Reads a command line as a POSIX shell would, as far as every word is known from the text alone.
 *
 * - Plain: one command, nothing else.
 * - A chain: several commands joined by `|`, `&&`, `||`, `;` or line breaks, or a command with redirections. Each
 *   command and each redirected file is known. Rules reject chains unless they say otherwise.
 * - Unreadable: everything else. Substitutions, variables, groups, loops, braces, background jobs, here documents,
 *   comments.
 */

export type CommandLine =
  | { readonly plain: true; readonly words: readonly ShellWord[] }
  /** `chain` is undefined if the text is unreadable. */
  | { readonly plain: false; readonly chain: readonly SimpleCommand[] | undefined };

export type SimpleCommand = {
  readonly words: readonly ShellWord[];
  /** The files its redirections name. */
  readonly files: readonly ShellWord[];
};

export type ShellWord = {
  /** Quotes and escapes are removed. */
  readonly text: string;
  /** The shell would expand this pattern to file names. */
  readonly wildcard: boolean;
};

export const unreadableLine: CommandLine = { plain: false, chain: undefined };

/** Control characters do not belong in a command: a shell that drops them reads other words than this file. */
// oxlint-disable-next-line eslint/no-control-regex -- they are what is looked for
const strange = /[\0-\x08\x0b-\x1f\x7f\x85\u2028\u2029]/;

/** Words that group commands: what runs is behind them. */
const reservedWords: ReadonlySet<string> = new Set(
  '! [[ case coproc do done elif else esac fi for function if select then until while'.split(' '),
);

/** More commands in one line than people write by hand. */
const mostCommands = 50;

export function readCommandLine(text: string): CommandLine {
  if (strange.test(text)) return unreadableLine;
  const reading = new LineReading(text);
  const commands = reading.read();
  if (commands === undefined) return unreadableLine;
  const [only] = commands;
  if (commands.length > 1 || (only !== undefined && only.files.length > 0) || reading.hasOperators)
    return { plain: false, chain: commands };
  return { plain: true, words: only?.words ?? [] };
}

/** The commands of a line, plain or chained. Undefined if it is unreadable. */
export const commandsInLine = (line: CommandLine): readonly SimpleCommand[] | undefined =>
  line.plain ? [{ words: line.words, files: [] }] : line.chain;

class LineReading {
  readonly #text: string;
  /** A run of characters that are always part of a word. */
  readonly #ordinary = /[^ \t\n'"\\$#{*?[;&|<>()`]+/y;
  readonly #commands: SimpleCommand[] = [];
  #words: ShellWord[] = [];
  #files: ShellWord[] = [];
  #word: string | undefined;
  #wildcard = false;
  /** The next word is the file of a redirection. */
  #redirecting = false;
  /** A separator was read that needs a command after it. */
  #expectsCommand = false;
  /** Separators or redirections were read. */
  hasOperators = false;

  constructor(text: string) {
    this.#text = text;
  }

  read(): readonly SimpleCommand[] | undefined {
    let at: number | undefined = 0;
    while (at < this.#text.length) {
      at = this.#readAt(at);
      if (at === undefined || this.#commands.length > mostCommands) return undefined;
    }
    if (this.#expectsCommand && this.#words.length === 0 && this.#word === undefined) return undefined;
    return this.#endCommand(false) ? this.#commands : undefined;
  }

  /** Reads what starts at this position and returns the position after it. Undefined if it is unreadable. */
  #readAt(at: number): number | undefined {
    const unit = this.#text.charAt(at);
    switch (unit) {
      case ' ':
      case '\t':
        this.#endWord();
        return at + 1;
      case "'":
      case '"':
      case '\\':
        return this.#readQuoted(at, unit);
      case '$':
        if (/[\w{(['"@*#?$!-]/.test(this.#text.charAt(at + 1))) return undefined;
        return this.#add(unit, at + 1);
      case '#':
        return this.#word === undefined ? undefined : this.#add(unit, at + 1);
      case '{':
        // `{}` is an ordinary word; with content it may be several.
        return this.#text.charAt(at + 1) === '}' ? this.#add(unit, at + 1) : undefined;
      case '*':
      case '?':
      case '[':
        this.#wildcard = true;
        return this.#add(unit, at + 1);
      case ';':
      case '&':
      case '|':
      case '\n':
        return this.#readSeparator(at);
      case '<':
      case '>': {
        const length = this.#redirect(at);
        return length === undefined ? undefined : at + length;
      }
      case '(':
      case ')':
      case '`':
        return undefined;
      default: {
        this.#ordinary.lastIndex = at;
        const run = this.#ordinary.exec(this.#text)?.[0] ?? unit;
        return this.#add(run, at + run.length);
      }
    }
  }

  /** A quoted text, or an escaped character. */
  #readQuoted(at: number, mark: "'" | '"' | '\\'): number | undefined {
    const text = this.#text;
    if (mark === '"') {
      const quoted = readDoubleQuoted(text, at + 1);
      return quoted && this.#add(quoted.text, quoted.end + 1);
    }
    if (mark === "'") {
      const end = text.indexOf("'", at + 1);
      return end < 0 ? undefined : this.#add(text.slice(at + 1, end), end + 1);
    }
    const next = text.charAt(at + 1);
    return next === '' || next === '\n' ? undefined : this.#add(next, at + 2);
  }

  #readSeparator(at: number): number | undefined {
    this.hasOperators = true;
    const operator = /^(?:&&|\|\||\|&|[;|\n])/.exec(this.#text.slice(at, at + 2))?.[0];
    if (operator === undefined) return undefined;
    return this.#endCommand(operator !== ';' && operator !== '\n') ? at + operator.length : undefined;
  }

  /** Adds to the current word. Returns `next`, the position to continue at. */
  #add(text: string, next: number): number {
    this.#word = (this.#word ?? '') + text;
    return next;
  }

  #endWord(): void {
    if (this.#word === undefined) return;
    const word = { text: this.#word, wildcard: this.#wildcard };
    if (this.#redirecting) this.#files.push(word);
    else this.#words.push(word);
    this.#redirecting = false;
    this.#word = undefined;
    this.#wildcard = false;
  }

  /**
   * False for a word of the shell's grammar. Also false if a shell would report an error: a separator without a
   * command, a redirection without a file.
   */
  #endCommand(expectsMore: boolean): boolean {
    this.#endWord();
    if (this.#redirecting) return false;
    if (this.#words.length === 0) {
      if (this.#files.length > 0 || expectsMore || this.#expectsCommand) return false;
      return true;
    }
    if (reservedWords.has(this.#words[0]?.text ?? '')) return false;
    this.#commands.push({ words: this.#words, files: this.#files });
    this.#words = [];
    this.#files = [];
    this.#expectsCommand = expectsMore;
    return true;
  }

  /** `>file`, `2>>file`, `<file`, `2>&1`. Returns the length of the operator; undefined for any other redirection. */
  #redirect(at: number): number | undefined {
    const rest = this.#text.slice(at, at + 4);
    if (this.#word !== undefined) {
      // Digits directly before the operator are the stream; any other word ends here.
      if (/^\d$/.test(this.#word) && !this.#wildcard) this.#word = undefined;
      else this.#endWord();
    }
    if (this.#redirecting) return undefined;
    this.hasOperators = true;
    const copied = /^[<>]&\d(?=[\s;|&]|$)/.exec(rest)?.[0];
    if (copied !== undefined) return copied.length;
    const operator = /^(?:>>|>|<)(?![<>&|(])/.exec(rest)?.[0];
    if (operator !== undefined) this.#redirecting = true;
    return operator?.length;
  }
}

/**
 * Inside double quotes a shell still substitutes, and removes a backslash only before a character that it escapes.
 */
function readDoubleQuoted(
  text: string,
  start: number,
): { readonly text: string; readonly end: number } | undefined {
  let quoted = '';
  for (let at = start; at < text.length; at++) {
    const unit = text.charAt(at);
    if (unit === '"') return { text: quoted, end: at };
    if (unit === '`') return undefined;
    if (unit === '$' && /[\w{(@*#?$![-]/.test(text.charAt(at + 1))) return undefined;
    if (unit === '\\' && /[$`"\\\n]/.test(text.charAt(at + 1))) {
      if (text.charAt(++at) !== '\n') quoted += text.charAt(at);
    } else quoted += unit;
  }
  return undefined;
}

/**
 * The same for a command given as a list: nothing is split, and no word may contain what a shell would act on. A tool
 * may join the words before it runs them. So a list whose words contain spaces has a second reading; both are
 * returned.
 */
export function readArgumentList(list: readonly string[]): readonly CommandLine[] {
  if (list.some((text) => strange.test(text) || /[;&|<>()`\n]|\$[\w{(['"@*#?$!-]/.test(text)))
    return [unreadableLine];
  const asGiven: CommandLine = { plain: true, words: list.map((text) => ({ text, wildcard: false })) };
  if (!list.some((text) => /[\s'"\\]/.test(text))) return [asGiven];
  const joined = list.join(' ');
  const asJoined = readCommandLine(joined);
  if (asJoined.plain) return [asGiven, asJoined];
  // A shell refuses unbalanced quotes. It runs everything else that is unreadable: braces, comments, a last backslash.
  return hasOpenQuote(joined) ? [asGiven] : [unreadableLine];
}

/** Does the text end inside quotes? A comment ends it before. */
function hasOpenQuote(text: string): boolean {
  let mark: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charAt(at);
    if (unit === '\\' && mark !== "'") at++;
    else if (mark !== undefined) mark = unit === mark ? undefined : mark;
    else if (unit === "'" || unit === '"') mark = unit;
    else if (unit === '#' && /^$|\s/.test(text.charAt(at - 1))) return false;
  }
  return mark !== undefined;
}
