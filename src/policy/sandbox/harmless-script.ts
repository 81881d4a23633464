/**
 * Scripts that a program receives in one of its words. A script is harmless if it has a simple form that neither runs
 * a program nor names a file. An unrecognized script is not harmless.
 */
import { isHarmlessAwk } from './harmless-awk.ts';

export type ScriptLanguage = 'awk' | 'sed' | 'sql' | 'git-remote';

export function isHarmlessScript(language: ScriptLanguage, text: string): boolean {
  switch (language) {
    case 'awk':
      return isHarmlessAwk(text);
    case 'sed':
      return isHarmlessSed(text);
    case 'sql':
      return !/(?:^|[\r\n])\s*(?:\.[a-z]|\\)|\\!|\b(?:system|program|attach|load_extension|readfile|writefile|edit|outfile|dumpfile|load_file|infile|source|pg_read_\w+|lo_import|lo_export|copy|dblink\w*)\b/i.test(
        text,
      );
    case 'git-remote':
      // `ext::sh -c …` runs a command; `fd::7` and other helpers are programs too.
      return !/^[\w+-]+::/.test(text);
  }
}

/** Addresses with `p`, `d`, `q` and their like, `s///` and `y///` without flags that run or write. */
function isHarmlessSed(text: string): boolean {
  let rest = text.trim();
  if (rest.length > 4096) return false;
  const address = String.raw`(?:\d+(?:~\d+)?|\$|\/${patternUpTo('/')}\/I?)`;
  const head = new RegExp(String.raw`^(?:${address}(?:\s*,\s*(?:${address}|[+~]\d+))?\s*)?!?\s*`);
  while (rest !== '') {
    rest = rest.slice(head.exec(rest)?.[0].length ?? 0);
    const mark = /^[sy]([^\w\s\\])/.exec(rest)?.[1];
    const simple = /^[pdDPnNgGhHxqQ=](?=\s*(?:[;\n]|$))/.exec(rest)?.[0];
    if (mark !== undefined) {
      const escaped = `\\${mark}`;
      const part = String.raw`(?:[^${escaped}\\\n]|\\.)*`;
      const pattern = rest.startsWith('s') ? patternUpTo(mark) : part;
      const command = new RegExp(`^[sy]${escaped}${pattern}${escaped}${part}${escaped}[gpiI0-9]*`).exec(rest);
      if (command === null) return false;
      rest = rest.slice(command[0].length);
    } else if (simple !== undefined) rest = rest.slice(1);
    else return false;
    const separator = /^\s*(?:[;\n]\s*|$)/.exec(rest)?.[0];
    if (separator === undefined) return false;
    rest = rest.slice(separator.length);
  }
  return true;
}

/**
 * A pattern that ends before the mark. On some systems a mark inside brackets does not end it (`s/[/]/x/`), so
 * brackets must close before the mark.
 */
function patternUpTo(mark: string): string {
  const end = `\\${mark}`;
  return String.raw`(?:[^${end}\\\n[]|\\.|\[\^?\]?(?:\\${end}|[^\]${end}\n])*\])*`;
}
