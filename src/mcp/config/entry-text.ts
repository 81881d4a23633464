/**
 * The text of one entry in a configuration file. A change touches only this text, so comments, order and formatting
 * of everything else stay as they are.
 */
import type { FormattingOptions } from 'jsonc-parser';
import { applyEdits, findNodeAtLocation, modify } from 'jsonc-parser';
import { stringify } from 'smol-toml';
import type { ConfigDocument, ConfigPath } from './config-document.ts';
import type { TomlStatement } from './toml-statements.ts';
import { scanToml } from './toml-statements.ts';
import type { EntryChange } from './wrap-entry.ts';

export type TextRange = { readonly start: number; readonly end: number };

/** The place of the entry in the text; undefined if it is not there, or not in one piece. */
export function findEntryText(document: ConfigDocument, path: ConfigPath): TextRange | undefined {
  if (document.format === 'toml') return findTomlEntry(document.text, path)?.range;
  const node = document.tree && findNodeAtLocation(document.tree, [...path]);
  return node && { start: node.offset, end: node.offset + node.length };
}

/** The whole text with the entry changed; undefined if the entry is written in a way that cannot be changed. */
export function changeEntryText(
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

export const replaceRange = (text: string, { start, end }: TextRange, by: string): string =>
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
