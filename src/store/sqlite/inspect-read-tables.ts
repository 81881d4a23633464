/**
 * Checks that the read tables match the entries. Every row of every table is counted and compared with newly filled
 * tables, in memory or in a temporary SQLite file. Rows without entries reveal that entries were cut off.
 */
import type { Database, SqlValue } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import { EntryTable } from './entry-table.ts';
import { Heads } from './heads.ts';
import type { TableFinding } from './table-finding.ts';
import { nameSome } from './name-some.ts';
import { adviseRebuild } from './table-finding.ts';
import { findChangedWords } from './changed-words.ts';
import { Projection } from './projection.ts';
import { createScratchTables } from './read-schema.ts';
import { fromSqlText } from './sql-text.ts';
import { tallyTriggers } from './tally-table.ts';

type Row = Readonly<Record<string, SqlValue>>;
type Progress = { readonly ledger_id: SqlValue; readonly position: SqlValue; readonly hash: SqlValue };

/** The tables, with the columns that identify a row. */
const keys: Readonly<Record<string, readonly string[]>> = {
  calls: ['position'],
  audit: ['position', 'record_id'],
  confirmations: ['confirmation_id'],
  sessions: ['session'],
  tallies: ['hour', 'tool_name', 'mode', 'status', 'outcome', 'code', 'bin'],
};

export async function* inspectReadTables(
  ledger: Database,
  tables: Database,
  signal: AbortSignal,
): AsyncGenerator<TableFinding, void, undefined> {
  const ledgerId = prepareValue<string>(ledger, 'SELECT ledger_id FROM ledger').get() ?? '';
  const progress = prepareRow<Progress>(tables, 'SELECT ledger_id, position, hash FROM progress').all();
  const [first] = progress;
  if (first === undefined || progress.length > 1) {
    yield say(`The read tables have ${progress.length} progress rows; expected one.`);
    return;
  }
  if (first.ledger_id !== ledgerId) {
    yield say(
      'The read tables belong to a ledger with another id: the id was changed, or the file was ' +
        'replaced.',
    );
    return;
  }
  const remembers = findCut(ledger, first);
  if (remembers !== undefined) yield say(remembers);
  const fresh = createScratchTables(ledgerId);
  const copy = createScratchTables(ledgerId);
  try {
    await fill(ledger, fresh, signal);
    let kept = tables;
    if (remembers === undefined && !isAtEnd(ledger, first)) {
      copyRows(tables, copy, first);
      await fill(ledger, copy, signal);
      kept = copy;
    }
    if (signal.aborted) return;
    for (const table of Object.keys(keys))
      yield* nameSome(`the read table of ${table}`, compare(table, kept, fresh), ({ row, message }) => ({
        ...say(message),
        ...placeOf(row, fresh, kept),
      }));
    // Words of tables that lag behind cannot be copied and filled further. They are compared once the tables caught up.
    if (kept !== tables) return;
    yield* nameSome('the search index', findChangedWords(tables, fresh), (row) => ({
      ...say('The search index has other words for a call than the entries.'),
      ...placeOf(row, fresh, kept),
    }));
  } finally {
    fresh.close();
    copy.close();
  }
}

const say = (message: string): TableFinding => ({
  kind: 'read_table',
  message: `${message} ${adviseRebuild}`,
});

const lastOf = (ledger: Database): number =>
  prepareValue<number>(ledger, 'SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;

const isAtEnd = (ledger: Database, { position }: Progress): boolean => position === lastOf(ledger);

/** Reports entries that the tables were filled from but that are missing: they were cut off or replaced. */
function findCut(ledger: Database, { position, hash }: Progress): string | undefined {
  const last = lastOf(ledger);
  if (typeof position !== 'number' || !Number.isInteger(position) || position < 0)
    return 'The progress of the read tables is not a valid position.';
  if (position === 0) return undefined;
  const found = prepareValue<string>(ledger, 'SELECT hash FROM entries WHERE position = ?').get(position);
  const removals = prepareValue<number>(ledger, 'SELECT removals FROM ledger').get() ?? 0;
  if (position > last)
    return (
      `The read tables were filled up to position ${position}, but the last entry is at ${last}: ` +
      'entries were cut off. Restore a backup of the ledger that has them.'
    );
  if (found === undefined && removals === 0)
    return (
      `The read tables include an entry at position ${position}, which is missing. Restore a backup of ` +
      'the ledger.'
    );
  if (found !== undefined && found !== hash)
    return (
      `The read tables include a different entry at position ${position} than the ledger. Restore a ` +
      'backup of the ledger.'
    );
  return undefined;
}

async function fill(ledger: Database, tables: Database, signal: AbortSignal): Promise<void> {
  const heads = new Heads(ledger, Number.POSITIVE_INFINITY);
  const projection = new Projection(ledger, new EntryTable(ledger, heads), heads, tables);
  const { end } = projection;
  while (!signal.aborted && !projection.reaches(end)) await projection.step(() => signal.aborted);
}

/** Copies the tables so that they can be filled further: a read-only connection cannot do that. */
function copyRows(from: Database, to: Database, { position, hash }: Progress): void {
  to.exec(tallyTriggers.drop);
  for (const table of Object.keys(keys)) {
    const columns = prepareValue<string>(to, `SELECT name FROM pragma_table_info('${table}')`).all();
    const put = prepareRow<never>(to, `INSERT INTO ${table} VALUES (${columns.map(() => '?').join()})`);
    const rows = prepareRow<Row>(from, `SELECT ${columns.join()} FROM ${table}`);
    for (const row of rows.iterate()) put.run(...columns.map((column) => row[column] ?? null));
  }
  to.exec(tallyTriggers.create);
  prepareRow<never>(to, 'UPDATE progress SET position = ?, hash = ?').run(position ?? 0, hash ?? '');
}

type Difference = { readonly row: Row; readonly message: string };

function* compare(table: string, kept: Database, fresh: Database): Generator<Difference, void, undefined> {
  const key = keys[table] ?? [];
  const where = key.map((column) => `${column} IS ?`).join(' AND ');
  const dueAt = prepareRow<Row>(fresh, `SELECT * FROM ${table} WHERE ${where}`);
  const keptAt = prepareValue<number>(kept, `SELECT 1 FROM ${table} WHERE ${where}`);
  const keyOf = (row: Row): SqlValue[] => key.map((column) => row[column] ?? null);
  for (const row of prepareRow<Row>(kept, `SELECT * FROM ${table}`).iterate()) {
    if (isNothing(table, row)) continue;
    const due = dueAt.get(...keyOf(row));
    if (due === undefined) yield { row, message: `The read table of ${table} has a row without an entry.` };
    else {
      const column = Object.keys(due).find((name) => !isSame(due[name], row[name]));
      if (column !== undefined)
        yield {
          row,
          message: `The read table of ${table} disagrees with the entries (column "${column}").`,
        };
    }
  }
  for (const row of prepareRow<Row>(fresh, `SELECT * FROM ${table}`).iterate())
    if (!isNothing(table, row) && keptAt.get(...keyOf(row)) === undefined)
      yield { row, message: `The read table of ${table} lacks a row that the entries imply.` };
}

/** Tallies of calls that were added and removed again. */
const isNothing = (table: string, row: Row): boolean =>
  table === 'tallies' && row['calls'] === 0 && row['unresolved'] === 0 && row['cost_micros'] === 0;

const isSame = (one: SqlValue | undefined, other: SqlValue | undefined): boolean =>
  one instanceof Uint8Array && other instanceof Uint8Array ? Buffer.compare(one, other) === 0 : one === other;

function placeOf(
  row: Row,
  ...from: readonly Database[]
): Pick<TableFinding, 'sessionId' | 'callId' | 'position'> {
  const { call_id: callId, position, session } = row;
  for (const database of from) {
    const name = prepareValue<SqlValue>(database, 'SELECT session_id FROM sessions WHERE session IS ?').get(
      session ?? null,
    );
    const sessionId = nameOf(name);
    if (sessionId !== undefined)
      return {
        sessionId,
        callId: nameOf(callId),
        position: typeof position === 'number' ? position : undefined,
      };
  }
  return { callId: nameOf(callId) };
}

function nameOf(value: SqlValue | undefined): string | undefined {
  try {
    return fromSqlText(value as string); // throws for a value that is not a text
  } catch {
    return undefined;
  }
}
