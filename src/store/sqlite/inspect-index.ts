/** Checks that the columns next to an entry's text, and the index of entries by call, agree with the entries. */
import type { Database, SqlValue } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import { decode } from './entry-row.ts';
import { saysWhereItStands } from './tail-entry.ts';
import type { TableFinding } from './table-finding.ts';
import { countMarks } from './marks.ts';
import { nameSome } from './name-some.ts';
import { fromSqlText } from './sql-text.ts';

const advice = 'Run `quittance rebuild` to rebuild it from the entries.';

type Columns = {
  readonly position: number;
  readonly name: string | null;
  readonly session: number;
  readonly sequence: number;
  readonly call: string | null;
  readonly version: number | null;
  readonly marks: SqlValue;
  readonly text: string;
  readonly hash: string;
};

export const inspectColumns = (ledger: Database): Generator<TableFinding, void, undefined> =>
  nameSome('the columns of entries', wrongColumns(ledger), (found) => found);

function* wrongColumns(ledger: Database): Generator<TableFinding, void, undefined> {
  const hasMarks = prepareValue<string>(ledger, `SELECT name FROM pragma_table_info('entries')`)
    .all()
    .includes('marks');
  const rows = prepareRow<Columns>(
    ledger,
    `SELECT position, name, e.session, e.sequence, call, version, ${hasMarks ? 'marks' : 'NULL AS marks'}, text, e.hash
     FROM entries AS e LEFT JOIN sessions AS s ON s.session = e.session ORDER BY position`,
  );
  let isMarked = false;
  for (const row of rows.iterate()) {
    const message = wrongColumn(row, hasMarks, isMarked);
    isMarked ||= row.marks !== null;
    if (message === undefined) continue;
    yield {
      kind: 'side_row',
      position: row.position,
      sessionId: nameOf(row.name),
      message: `${message} ${advice}`,
    };
  }
}

/** `isMarked`: an earlier entry has marks, so a version that sets them wrote this one. */
function wrongColumn(row: Columns, hasMarks: boolean, isMarked: boolean): string | undefined {
  if (typeof row.text !== 'string') return undefined; // the chain check reports it
  const sessionId = nameOf(row.name);
  if (sessionId === undefined) return 'The entry belongs to a session without a row, or without a name.';
  if (!saysWhereItStands(row, sessionId))
    return 'The columns of the entry name a different session, call or version than its text.';
  if (!hasMarks) return undefined;
  const due = /,"(claim|reserve|settle|moves|totals)":/.test(row.text) ? marksIn(row.text) : 0;
  return due === undefined || row.marks === (due === 0 ? null : due) || (!isMarked && isOld(row))
    ? undefined
    : 'The entry does not have the number of marks that its text implies.';
}

/** Written before marks existed: its text states no totals, and its column was never set. */
const isOld = ({ marks, text }: Columns): boolean => marks === null && !text.includes(',"totals":');

function marksIn(text: string): number | undefined {
  try {
    return countMarks(decode({ text, bodies: null }));
  } catch {
    return undefined; // the chain check reports it
  }
}

type IndexRow = {
  readonly session: number;
  readonly call: string;
  readonly first: number;
  readonly last: number;
  readonly positions: string;
  readonly version: number | null;
  readonly name: string | null;
};

export const inspectIndex = (ledger: Database): Generator<TableFinding, void, undefined> =>
  nameSome('the index of entries', wrongIndex(ledger), (found) => found);

function* wrongIndex(ledger: Database): Generator<TableFinding, void, undefined> {
  const indexed = prepareValue<number>(ledger, 'SELECT indexed FROM ledger').get() ?? 0;
  const entryAt = prepareRow<{ session: number; call: string | null; version: number | null }>(
    ledger,
    'SELECT session, call, version FROM entries WHERE position = ?',
  );
  const rows = prepareRow<IndexRow>(
    ledger,
    `SELECT i.session, call, first, last, positions, version, name
     FROM entry_index AS i LEFT JOIN sessions AS s ON s.session = i.session ORDER BY i.session, call, first`,
  );
  let listed = 0;
  let before = { session: Number.NaN, call: '', version: 0 };
  for (const row of rows.iterate()) {
    const isNext = row.session === before.session && row.call === before.call;
    const positions = toPositions(row.positions);
    let version = isNext ? before.version : 0;
    let isSound =
      positions !== undefined &&
      positions[0] === row.first &&
      positions.at(-1) === row.last &&
      row.last <= indexed;
    for (const position of positions ?? []) {
      listed++;
      const entry = entryAt.get(position);
      isSound &&= entry?.session === row.session && (entry.call ?? '') === row.call;
      if (typeof entry?.version === 'number') version = Math.max(version, entry.version);
    }
    if (!isSound || row.version !== (row.call === '' ? null : version)) {
      yield {
        kind: 'side_row',
        sessionId: nameOf(row.name),
        callId: row.call === '' ? undefined : nameOf(row.call),
        message: `The index does not list the call's entries correctly. ${advice}`,
      };
    }
    before = { session: row.session, call: row.call, version };
  }
  const due =
    prepareValue<number>(ledger, 'SELECT count(*) FROM entries WHERE position <= ?').get(indexed) ?? 0;
  if (listed !== due)
    yield {
      kind: 'side_row',
      message: `The index lists ${listed} entries; up to its stated end there are ${due}. ${advice}`,
    };
}

function toPositions(text: string): readonly number[] | undefined {
  if (typeof text !== 'string') return undefined;
  const positions = text.split(',').map(Number);
  const isSound = positions.every((position, index) => position > (positions[index - 1] ?? 0));
  return isSound && positions.join() === text ? positions : undefined;
}

function nameOf(value: string | null): string | undefined {
  try {
    return value === null ? undefined : fromSqlText(value);
  } catch {
    return undefined;
  }
}
