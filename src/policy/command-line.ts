/**
 * A command line as a POSIX shell would read it, as long as it is plain: one command, every word known from the text
 * alone. Whatever chains, substitutes, redirects, groups or comments makes it not plain, and then no words are given:
 * what it would do cannot be read off it.
 */

export type CommandLine =
  { readonly plain: true; readonly words: readonly ShellWord[] } | { readonly plain: false };

export type ShellWord = {
  /** Quotes and escapes removed. */
  readonly text: string;
  /** The shell would look for files by this pattern. */
  readonly wildcard: boolean;
};

const notPlain: CommandLine = { plain: false };

/** Control characters have no business in a command; a shell that drops them reads other words than this file. */
// oxlint-disable-next-line eslint/no-control-regex -- they are what is looked for
const strange = /[\0-\x08\x0b-\x1f\x7f\x85\u2028\u2029]/;

export function readCommandLine(text: string): CommandLine {
  if (strange.test(text)) return notPlain;
  const words: ShellWord[] = [];
  const ordinary = /[^ \t\n'"\\$#{*?[;&|<>()`]+/y;
  let word: string | undefined;
  let wildcard = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charAt(at);
    switch (unit) {
      case ' ':
      case '\t':
        if (word !== undefined) words.push({ text: word, wildcard });
        word = undefined;
        wildcard = false;
        break;
      case "'": {
        const end = text.indexOf("'", at + 1);
        if (end < 0) return notPlain;
        word = (word ?? '') + text.slice(at + 1, end);
        at = end;
        break;
      }
      case '"': {
        const quoted = readDoubleQuoted(text, at + 1);
        if (quoted === undefined) return notPlain;
        word = (word ?? '') + quoted.text;
        at = quoted.end;
        break;
      }
      case '\\': {
        const next = text.charAt(++at);
        if (next === '' || next === '\n') return notPlain;
        word = (word ?? '') + next;
        break;
      }
      case '$':
        if (/[\w{(['"@*#?$!-]/.test(text.charAt(at + 1))) return notPlain;
        word = (word ?? '') + unit;
        break;
      case '#':
        if (word === undefined) return notPlain;
        word += unit;
        break;
      case '{':
        // `{}` is a word like any other; with something inside it may be several.
        if (text.charAt(at + 1) !== '}') return notPlain;
        word = (word ?? '') + unit;
        break;
      case '*':
      case '?':
      case '[':
        wildcard = true;
        word = (word ?? '') + unit;
        break;
      case ';':
      case '&':
      case '|':
      case '<':
      case '>':
      case '(':
      case ')':
      case '`':
      case '\n':
        return notPlain;
      default: {
        ordinary.lastIndex = at;
        const run = ordinary.exec(text)?.[0] ?? unit;
        word = (word ?? '') + run;
        at += run.length - 1;
      }
    }
  }
  if (word !== undefined) words.push({ text: word, wildcard });
  return { plain: true, words };
}

/** Between double quotes a shell still substitutes, and takes a backslash away only before what it protects from. */
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

/** The same for a command given as a list: nothing is split, and no word may hold what a shell would act on. */
export function readArgumentList(list: readonly string[]): CommandLine {
  if (list.some((text) => strange.test(text) || /[;&|<>()`\n$]/.test(text))) return notPlain;
  return { plain: true, words: list.map((text) => ({ text, wildcard: false })) };
}
