/** The statements of a TOML file with their places, so that single ones can be changed and the rest stays as it is. */
import { parse, TomlError } from 'smol-toml';
import { isTable } from './config-document.ts';

export type TomlStatement = {
  readonly kind: 'header' | 'pair';
  /** Full path of the table or of the value. */
  readonly path: readonly string[];
  /** The path within its table. */
  readonly key: readonly string[];
  readonly start: number;
  /** After the end of its last line. */
  readonly end: number;
};

/** The most lines of one value. Each line costs another reading of the value. */
const mostLines = 2_000;

/** Statements in order. Comments and empty lines lie between them. The text must be valid TOML. */
export function scanToml(text: string): readonly TomlStatement[] {
  const statements: TomlStatement[] = [];
  const lineEnds = [...text.matchAll(/\n|$(?!\n)/g)].map(({ index }) => Math.min(index + 1, text.length));
  let table: readonly string[] = [];
  let start = text.startsWith('\uFEFF') ? 1 : 0;
  for (let line = 0; start < text.length; line++) {
    let end = lineEnds[line] ?? text.length;
    const first = text.slice(start, end).trim();
    if (first !== '' && !first.startsWith('#')) {
      // A value may go on over several lines: it ends where the statement is complete.
      let read = readStatement(text.slice(start, end));
      for (let more = 0; read === undefined && end < text.length && more < mostLines; more++) {
        end = lineEnds[++line] ?? text.length;
        read = readStatement(text.slice(start, end));
      }
      if (read === undefined) break;
      if (read.kind === 'header') table = read.key;
      statements.push({
        ...read,
        path: read.kind === 'header' ? read.key : [...table, ...read.key],
        start,
        end,
      });
    }
    start = end;
  }
  return statements;
}

/** Reads one statement alone. Undefined if it is not complete. */
function readStatement(text: string): Pick<TomlStatement, 'kind' | 'key'> | undefined {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    if (error instanceof TomlError) return undefined;
    throw error;
  }
  const kind = text.trimStart().startsWith('[') ? 'header' : 'pair';
  const depth = countKeys(text, kind);
  const key: string[] = [];
  while (key.length < depth) {
    if (Array.isArray(value)) value = value[0];
    const [name] = isTable(value) ? Object.keys(value) : [];
    if (name === undefined) break;
    key.push(name);
    value = isTable(value) ? value[name] : undefined;
  }
  return { kind, key };
}

/** The number of names in a dotted key: `a."b.c".d` has three. */
function countKeys(text: string, kind: TomlStatement['kind']): number {
  const part = /\s*(?:"(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)\s*(\.?)/y;
  part.lastIndex = kind === 'header' ? (/^\s*\[\[?/.exec(text)?.[0].length ?? 0) : 0;
  let count = 0;
  for (;;) {
    const found = part.exec(text);
    if (found === null) return count;
    count++;
    if (found[1] === '') return count;
  }
}
