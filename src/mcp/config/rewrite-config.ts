/** Puts the servers of a configuration behind the gateway, and takes them back out. */
import { isDeepStrictEqual } from 'node:util';
import { QuittanceError } from '../../base/error.ts';
import type { ConfigDocument, ConfigPath, ConfigTable } from './config-document.ts';
import { parseConfigDocument } from './config-document.ts';
import { changeEntryText, findEntryText, replaceRange } from './entry-text.ts';
import type { ServerRow } from './server-table.ts';
import { findAllServers } from './server-table.ts';
import type { EntryChange, Wrapper } from './wrap-entry.ts';
import { isWrapped, unwrapEntry, wrapEntry } from './wrap-entry.ts';

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
