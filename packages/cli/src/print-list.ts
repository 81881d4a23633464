import type { JsonObject } from 'quittance/internal/base/json';
import type { Page } from 'quittance/internal/ledger/call-query';
import { parseCursor, readPages } from 'quittance/internal/ledger/call-query';
import type { Context, Given } from './command.ts';
import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';
import { readPageLimit } from './page-limit.ts';
import { SearchProgress } from './search-progress.ts';
import { safeJson } from './terminal-text.ts';
import type { Column, Row, Table } from './table.ts';
import { layOutTable } from './table.ts';
import { localTimeText } from './time-text.ts';

/** A list: its source and its presentation. */
export type Listing<Item, Query> = {
  readonly ask: (
    query: Query & { readonly limit?: number; readonly cursor?: string | undefined; readonly scan?: number },
  ) => Promise<Page<Item>>;
  readonly query: Query;
  readonly columns: readonly Column[];
  readonly toRow: (item: Item) => Row;
  readonly toJson: (item: Item) => JsonObject;
  /** Message for an empty list. */
  readonly none: string;
};

/** The first rows set the widths of the columns. A slow search shows what it has after this time. */
const rowsForLayout = 50;
const longestLayoutMs = 1_000;

/**
 * Prints a list as a table or as JSON lines, up to the limit, and says how to get the rest. A long search prints rows as it
 * finds them. Ctrl-C ends it.
 */
export async function printList<Item, Query>(
  { ask, query, columns, toRow, toJson, none }: Listing<Item, Query>,
  given: Given,
  { out, err, signal }: Context,
): Promise<ExitCode> {
  const from = { ...query, cursor: given.text('cursor') };
  const asJson = given.has('json');
  const progress = new SearchProgress(err);
  const beganMs = performance.now();
  let shown = 0;
  let next: string | undefined;
  let table: Table | undefined;
  let waiting: Item[] = [];
  const print = async (): Promise<void> => {
    if (waiting.length === 0) return;
    await progress.clear();
    if (asJson) for (const item of waiting) await out.print(safeJson(toJson(item)));
    else {
      const rows = waiting.map(toRow);
      if (table === undefined) {
        table = layOutTable(columns, rows, out.width, out.paint);
        await out.print(table.heading());
      }
      for (const row of rows) await out.print(table.line(row));
    }
    waiting = [];
  };
  for await (const page of readPages(ask, from, readPageLimit(given), signal)) {
    next = page.next;
    shown += page.rows.length;
    waiting.push(...page.rows);
    const isLaidOut = asJson || table !== undefined || waiting.length >= rowsForLayout;
    if (isLaidOut || performance.now() - beganMs > longestLayoutMs) await print();
    if (next !== undefined) await progress.reached(parseCursor(next)[0]);
  }
  await print();
  await progress.clear();
  if (!out.isRead()) return exitCodes.good;
  if (next === undefined) {
    if (shown === 0 && !asJson && !signal.aborted) await err.print(none);
    return exitCodes.good;
  }
  const more = signal.aborted
    ? `Stopped: searched back to ${localTimeText(parseCursor(next)[0])}, ${shown} shown. To continue: --cursor ${next}`
    : `${shown} shown. For more: --all, --limit N or --cursor ${next}`;
  await err.print(err.paint('dim', more));
  return exitCodes.good;
}
