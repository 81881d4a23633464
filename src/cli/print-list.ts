import type { Awaitable, JsonObject } from '../base/json.ts';
import type { Page } from '../ledger/call-query.ts';
import type { Context, Given } from './command.ts';
import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';
import { readPages } from '../ledger/read-pages.ts';
import { readPageLimit } from './page-limit.ts';
import { safeJson } from './terminal-text.ts';
import type { Column, Row, Table } from './table.ts';
import { layOutTable } from './table.ts';

/** A list: its source and its presentation. */
export type Listing<Item, Query> = {
  readonly ask: (
    query: Query & { readonly limit?: number; readonly cursor?: string | undefined },
  ) => Awaitable<Page<Item>>;
  readonly query: Query;
  readonly columns: readonly Column[];
  readonly toRow: (item: Item) => Row;
  readonly toJson: (item: Item) => JsonObject;
  /** Message for an empty list. */
  readonly none: string;
};

/** Prints a list as a table or as JSON lines, up to the limit, and says how to get the rest. */
export async function printList<Item, Query>(
  { ask, query, columns, toRow, toJson, none }: Listing<Item, Query>,
  given: Given,
  { out, err, signal }: Context,
): Promise<ExitCode> {
  const from = { ...query, cursor: given.text('cursor') };
  let shown = 0;
  let next: string | undefined;
  let table: Table | undefined;
  for await (const page of readPages(ask, from, readPageLimit(given), signal)) {
    next = page.next;
    shown += page.rows.length;
    if (given.has('json')) {
      for (const item of page.rows) await out.print(safeJson(toJson(item)));
      continue;
    }
    const rows = page.rows.map(toRow);
    if (table === undefined && rows.length > 0) {
      table = layOutTable(columns, rows, out.width, out.paint);
      await out.print(table.heading());
    }
    for (const row of rows) if (table !== undefined) await out.print(table.line(row));
  }
  if (signal.aborted) return exitCodes.good;
  if (next !== undefined)
    await err.print(err.paint('dim', `${shown} shown. For more: --all, --limit N or --cursor ${next}`));
  else if (shown === 0 && !given.has('json')) await err.print(none);
  return exitCodes.good;
}
