/**
 * Checks rows that no entry describes: the row of the ledger itself, those of sessions, and the cursors of readers.
 */
import type { Database, SqlValue } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { TableFinding } from './table-finding.ts';
import { fromSqlText } from './sql-text.ts';

type Row = Readonly<Record<string, SqlValue>>;

const goBack = 'Restore a backup of the file, or run `quittance rebuild`.';

export function* inspectLedgerRow(ledger: Database): Generator<TableFinding, void, undefined> {
  const rows = prepareRow<Row>(ledger, 'SELECT ledger_id, indexed, removals FROM ledger').all();
  const [row] = rows;
  if (row === undefined || rows.length > 1) {
    yield {
      kind: 'file',
      message: `The table "ledger" has ${rows.length} rows; expected one. ${goBack}`,
    };
    return;
  }
  const { ledger_id: id, indexed, removals } = row;
  if (typeof id !== 'string' || !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id))
    yield {
      kind: 'file',
      message: 'The id of the ledger was not written by this program. Restore a backup of the file.',
    };
  const last = prepareValue<number>(ledger, 'SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;
  if (!Number.isInteger(indexed) || Number(indexed) < 0 || Number(indexed) > last)
    yield {
      kind: 'side_row',
      message: `The index is said to end at position ${String(indexed)}, and the last entry is at ${last}. ${goBack}`,
    };
  const dropped = countDropped(ledger);
  if (removals !== dropped)
    yield {
      kind: 'side_row',
      message: `${String(removals)} sessions are said to have been removed; the ledger's own chain tells of ${dropped}. ${goBack}`,
    };
  // Session numbers are never reused: each number has a row, or its session was removed.
  const sequences = prepareRow<Row>(
    ledger,
    'SELECT name, seq, typeof(seq) AS type FROM sqlite_sequence',
  ).all();
  const given = sequences.length === 0 ? 0 : sequences[0]?.['seq'];
  const listed = prepareValue<number>(ledger, 'SELECT count(*) FROM sessions').get() ?? 0;
  const isOurs =
    sequences.every(({ name, type }) => name === 'sessions' && type === 'integer') && sequences.length < 2;
  if (!isOurs || given !== listed + dropped)
    yield {
      kind: 'side_row',
      message:
        `${String(given)} sessions were created and ${dropped} removed, but ${listed} are listed: the ` +
        `rows of sessions were changed. ${goBack}`,
    };
}

function countDropped(ledger: Database): number {
  const texts = prepareValue<unknown>(
    ledger,
    `SELECT text FROM entries WHERE session = (SELECT session FROM sessions WHERE name = 'quittance.ledger')
       AND instr(text, '"session.dropped"') > 0`,
  );
  let count = 0;
  for (const text of texts.all())
    count += typeof text === 'string' ? text.split('"type":"session.dropped"').length - 1 : 0;
  return count;
}

export function* inspectSessions(ledger: Database): Generator<TableFinding, void, undefined> {
  const indexed = prepareValue<number>(ledger, 'SELECT indexed FROM ledger').get() ?? 0;
  const ends = new Map(
    prepareRow<{ session: SqlValue; sequence: SqlValue; hash: SqlValue }>(
      ledger,
      'SELECT session, max(sequence) AS sequence, hash FROM entries WHERE position <= ? GROUP BY session',
    )
      .all(indexed)
      .map(({ session, ...end }) => [session, end]),
  );
  const rows = prepareRow<Row>(ledger, 'SELECT session, name, sequence, hash FROM sessions');
  for (const { session, name, sequence, hash } of rows.iterate()) {
    const end = ends.get(session ?? null) ?? { sequence: 0, hash: null };
    const sessionId = nameOf(name);
    if (sessionId === undefined)
      yield {
        kind: 'side_row',
        message: `The name of session number ${String(session)} was not written by this program. ${goBack}`,
      };
    if (sequence !== end.sequence || hash !== end.hash)
      yield {
        kind: 'side_row',
        sessionId,
        message:
          `The row of the session says that its chain ends at ${String(sequence)}; its indexed entries ` +
          `end at ${String(end.sequence)}, or have another hash. ${goBack}`,
      };
  }
}

export function* inspectCursors(ledger: Database): Generator<TableFinding, void, undefined> {
  const last = prepareValue<number>(ledger, 'SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;
  for (const row of prepareRow<Row>(ledger, 'SELECT name, position, holder, owner FROM cursors').iterate()) {
    const { position, holder, owner } = row;
    const name = nameOf(row['name']);
    const wrong =
      name === undefined
        ? 'has a name that was not written by this program'
        : !Number.isInteger(position) || Number(position) < 0
          ? 'has an invalid position'
          : Number(position) > last
            ? `has read up to position ${String(position)}, but the last entry is at ${last}: later ` +
              'entries are missing'
            : (holder === null) !== (owner === null)
              ? 'has a holder without an owner, or an owner without a holder'
              : [holder, owner].some((each) => each !== null && nameOf(each) === undefined)
                ? 'has a holder or an owner that was not written by this program'
                : undefined;
    if (wrong !== undefined)
      yield {
        kind: 'side_row',
        message: `The cursor ${JSON.stringify(name ?? '')} ${wrong}. Compare the ledger with an anchor or a copy; \`quittance behaviors\` drops a cursor.`,
      };
  }
}

function nameOf(value: SqlValue | undefined): string | undefined {
  try {
    return fromSqlText(value as string); // throws for a value that is not a text
  } catch {
    return undefined;
  }
}
