/** Puts the servers of a configuration behind the gateway, and takes them back out. */
import { isDeepStrictEqual } from 'node:util';
import { QuittanceError } from 'quittance/internal/base/error';
import type { ConfigDocument, ConfigPath, ConfigTable } from './config-document.ts';
import { parseConfigDocument, isTable } from './config-document.ts';
import type { ServerRow } from './server-table.ts';
import { findAllServers } from './server-table.ts';
import type { EntryChange, Wrapper } from './wrap-entry.ts';
import { isWrapped, unwrapEntry, wrapEntry } from './wrap-entry.ts';
import type { FormattingOptions } from 'jsonc-parser';
import { applyEdits, findNodeAtLocation, modify } from 'jsonc-parser';
import { stringify, parse, TomlError } from 'smol-toml';

/** An entry that was changed, with its exact text before and after. */
export type ChangedEntry = {
  readonly path: ConfigPath;
  readonly before: string;
  readonly after: string;
};

export type Rewrite = {
  readonly text: string;
  readonly changed: readonly (ChangedEntry & {
    readonly name: string;
    readonly from: ConfigTable;
    readonly to: ConfigTable;
    /** For a reader: why the result is not exactly what was there before. */
    readonly note?: string;
  })[];
  readonly left: readonly { readonly name: string; readonly reason: string }[];
};

export function installGateway(document: ConfigDocument, wrapper: Wrapper): Rewrite {
  const left: { name: string; reason: string }[] = [];
  const { dialect, rows } = findAllServers(document);
  return rewrite(document, rows, left, (row, current) => {
    const wrapped = wrapEntry(row, dialect, wrapper);
    if (wrapped.status === 'already') return undefined;
    const text =
      wrapped.status === 'wrapped' ? changeEntryText(current, row.path, wrapped.change) : undefined;
    if (wrapped.status === 'wrapped' && text !== undefined)
      return { text, expected: applyChange(row.entry, wrapped.change) };
    const reason =
      wrapped.status === 'left'
        ? wrapped.reason
        : `it is not one [${row.path.join('.')}] table; write it as such a table`;
    left.push({ name: row.name, reason });
    return undefined;
  });
}

/** `installed`: the entries that an earlier installation changed, if its record is there. */
export function uninstallGateway(document: ConfigDocument, installed: readonly ChangedEntry[]): Rewrite {
  const { dialect, rows } = findAllServers(document);
  const left: { name: string; reason: string }[] = [];
  const wrapped = rows.filter(({ entry }) => isWrapped(entry));
  return rewrite(document, wrapped, left, (row, current) => {
    const known = installed.find(({ path }) => isDeepStrictEqual(path, row.path));
    const range = findEntryText(current, row.path);
    if (range === undefined) return undefined;
    if (known !== undefined && current.text.slice(range.start, range.end) === known.after)
      return { text: replaceRange(current.text, range, known.before) };
    const change = unwrapEntry(row, dialect);
    const text = change && changeEntryText(current, row.path, change);
    if (change === undefined || text === undefined) {
      left.push({ name: row.name, reason: 'its entry cannot be changed' });
      return undefined;
    }
    const note = known === undefined ? 'No record of its installation' : 'It was edited since';
    return { text, expected: applyChange(row.entry, change), note: `${note}: its own settings are kept.` };
  });
}

type NewText = { readonly text: string; readonly expected?: ConfigTable; readonly note?: string };

/** Changes entries one by one and checks after each that nothing else changed its meaning. */
function rewrite(
  document: ConfigDocument,
  rows: readonly ServerRow[],
  left: Rewrite['left'],
  change: (row: ServerRow, current: ConfigDocument) => NewText | undefined,
): Rewrite {
  let current = document;
  const changed: Rewrite['changed'][number][] = [];
  for (const row of rows) {
    const made = change(row, current);
    if (made === undefined) continue;
    const next = parseConfigDocument(document.file, made.text);
    const [before, after] = [findEntryText(current, row.path), findEntryText(next, row.path)];
    const to = findAllServers(next).rows.find(({ path }) => isDeepStrictEqual(path, row.path))?.entry;
    const isAsMeant =
      before !== undefined &&
      after !== undefined &&
      to !== undefined &&
      (made.expected === undefined || isDeepStrictEqual(plain(to), plain(made.expected))) &&
      isDeepStrictEqual(plain(without(current, row.path)), plain(without(next, row.path)));
    if (!isAsMeant)
      throw new QuittanceError(
        'config.invalid',
        `${document.file}: the entry ${JSON.stringify(row.name)} cannot be changed without changing others. Nothing was written.`,
      );
    changed.push({
      path: row.path,
      name: row.name,
      before: current.text.slice(before.start, before.end),
      after: next.text.slice(after.start, after.end),
      from: row.entry,
      to,
      ...(made.note !== undefined && { note: made.note }),
    });
    current = next;
  }
  return { text: current.text, changed, left };
}

const plain = (value: unknown): unknown => structuredClone(value);

function applyChange(entry: ConfigTable, change: EntryChange): ConfigTable {
  const next: Record<string, unknown> = { ...entry };
  for (const [key, value] of change)
    if (value === undefined) delete next[key];
    else next[key] = value;
  return next;
}

/** The whole document without one entry. */
function without({ root }: ConfigDocument, path: ConfigPath): unknown {
  const copy = structuredClone(root) as Record<string, unknown>;
  let table: Record<string, unknown> = copy;
  for (const key of path.slice(0, -1)) table = table[key] as Record<string, unknown>;
  delete table[String(path.at(-1))];
  return copy;
}

/**
 * The text of one entry in a configuration file. A change touches only this text, so comments, order and formatting
 * of everything else stay as they are.
 */

type TextRange = { readonly start: number; readonly end: number };

/** The place of the entry in the text; undefined if it is not there, or not in one piece. */
function findEntryText(document: ConfigDocument, path: ConfigPath): TextRange | undefined {
  if (document.format === 'toml') return findTomlEntry(document.text, path)?.range;
  const node = document.tree && findNodeAtLocation(document.tree, [...path]);
  return node && { start: node.offset, end: node.offset + node.length };
}

/** The whole text with the entry changed; undefined if the entry is written in a way that cannot be changed. */
function changeEntryText(
  document: ConfigDocument,
  path: ConfigPath,
  change: EntryChange,
): string | undefined {
  const { text, format } = document;
  const range = findEntryText(document, path);
  if (range === undefined) return undefined;
  const changed =
    format === 'toml'
      ? changeToml(text, path, change)
      : changeJson(text.slice(range.start, range.end), change, formatOf(text));
  return changed === undefined ? undefined : replaceRange(text, range, changed);
}

const replaceRange = (text: string, { start, end }: TextRange, by: string): string =>
  text.slice(0, start) + by + text.slice(end);

/** The changed text of the entry. An entry on one line stays on one line. */
function changeJson(entry: string, change: EntryChange, formattingOptions: FormattingOptions): string {
  const options = entry.includes('\n') ? { formattingOptions } : {};
  let changed = entry;
  for (const [key, value] of change) changed = applyEdits(changed, modify(changed, [key], value, options));
  return changed;
}

/** The style of the file, from its first indented line. */
function formatOf(text: string): FormattingOptions {
  const [, indent = '  '] = /\n([ \t]+)\S/.exec(text) ?? [];
  return {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.length,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  };
}

type TomlEntry = {
  readonly range: TextRange;
  readonly header: TomlStatement;
  readonly statements: readonly TomlStatement[];
};

/** An entry with a header of its own, whose statements lie together. */
function findTomlEntry(text: string, path: ConfigPath): TomlEntry | undefined {
  const all = scanToml(text);
  const isPart = ({ path: found }: TomlStatement): boolean =>
    path.every((key, index) => found[index] === key);
  const statements = all.filter(isPart);
  const [header] = statements;
  const last = statements.at(-1);
  if (header === undefined || last === undefined) return undefined;
  const isWhole = all.slice(all.indexOf(header), all.indexOf(last) + 1).every(isPart);
  if (header.kind !== 'header' || header.path.length !== path.length || !isWhole) return undefined;
  return { header, statements, range: { start: header.start, end: last.end } };
}

/** The changed text of the entry. */
function changeToml(text: string, path: ConfigPath, change: EntryChange): string | undefined {
  const entry = findTomlEntry(text, path);
  if (entry === undefined) return undefined;
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const { header, statements, range } = entry;
  const edits: (TextRange & { readonly text: string })[] = [];
  let added = '';
  for (const [key, value] of change) {
    const found = statements.filter((each) => each !== header && each.path[path.length] === key);
    const written = value === undefined ? '' : writeToml(key, value) + eol;
    const [first, ...rest] = found;
    if (first === undefined) added += written;
    else if (first.kind === 'pair' && first.path.length === path.length + 1) {
      const tail = text.slice(first.start, first.end).endsWith('\n') ? written : written.trimEnd();
      edits.push({ ...first, text: tail });
    } else if (value === undefined) edits.push({ ...first, text: '' });
    else return undefined;
    for (const each of rest) edits.push({ ...each, text: '' });
  }
  const needsEol = added !== '' && !text.slice(header.start, header.end).endsWith('\n');
  edits.push({ start: header.end, end: header.end, text: (needsEol ? eol : '') + added });
  const changed = edits
    .toSorted((a, b) => b.start - a.start || b.end - a.end)
    .reduce((made, edit) => replaceRange(made, edit, edit.text), text.slice(0, range.end));
  // Comments and empty lines that preceded a removed table would belong to the next one.
  const lines = changed.slice(range.start).split(/\r?\n/);
  while (/^\s*(?:#|$)/.test(lines.at(-1) ?? 'x')) lines.pop();
  return lines.join(eol) + eol;
}

/** One line: tables are written within braces. */
function writeToml(key: string, value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return stringify({ [key]: value }).trimEnd();
  const pairs = Object.entries(value).map(([name, text]) => stringify({ [name]: text }).trimEnd());
  return `${key} = { ${pairs.join(', ')} }`;
}

/** The statements of a TOML file with their places, so that single ones can be changed and the rest stays as it is. */

type TomlStatement = {
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
function scanToml(text: string): readonly TomlStatement[] {
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
