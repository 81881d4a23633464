/** State that is stored outside entries, a page of rows at a time, so that other work runs between two pages. */
import type { Page } from '../../ledger/call-query.ts';
import type { SideRow } from '../../ledger/side-row.ts';
import type { SqlDriver, SqlNames, SqlValue } from './driver.ts';
import { readStoredName } from './driver.ts';

/** A table: a select with the columns of `toRow` below, and the columns that order it. */
export type SideTable = { readonly from: string; readonly by: readonly string[] };

export type SideDialect = SqlNames & {
  readonly sideTables: { readonly [Kind in SideRow['kind']]: SideTable };
};

const kinds = ['claim', 'counter', 'unsettled', 'state', 'sealed', 'artifact'] as const;
const rowsPerPage = 500;

type Row = Readonly<Record<string, unknown>>;

/** A page of rows after a cursor: the number of the table, and the columns of the last row. */
export async function pageOfSideRows(
  driver: SqlDriver,
  dialect: SideDialect,
  cursor: string | undefined,
): Promise<Page<SideRow>> {
  const [at, ...last] = cursor === undefined ? [0] : (JSON.parse(cursor) as [number, ...Place[]]);
  const kind = kinds[at];
  if (kind === undefined) return { rows: [], next: undefined };
  const { from, by } = dialect.sideTables[kind];
  const columns = by.join(', ');
  const where = last.length === 0 ? '' : ` WHERE (${columns}) > (${by.map(() => '?').join(', ')})`;
  const rows = await driver.all<Row>(
    `SELECT * FROM (${from}) side${where} ORDER BY ${columns} LIMIT ${rowsPerPage}`,
    last.map(fromPlace),
  );
  const end = rows.length < rowsPerPage ? undefined : rows.at(-1);
  const next = end === undefined ? [at + 1] : [at, ...by.map((column) => toPlace(end[column]))];
  return {
    rows: rows.map((row) => toRow(kind, row, dialect)),
    next: end === undefined && at + 1 === kinds.length ? undefined : JSON.stringify(next),
  };
}

function toRow(kind: SideRow['kind'], row: Row, names: SqlNames): SideRow {
  /** A value that this program cannot have written is shown as it is: no look-up by it succeeds. */
  const text = (column: string): string => {
    const value = row[column];
    return (
      readStoredName(names, value) ?? (typeof value === 'string' ? value : `(not a text: ${String(value)})`)
    );
  };
  const number = (column: string): number => {
    const value = row[column];
    return typeof value === 'number' ? value : Number.NaN; // which equals no number
  };
  const sessionId = row['session_id'] === null ? undefined : text('session_id');
  switch (kind) {
    case 'claim':
      return {
        kind,
        key: text('key'),
        sessionId: text('session_id'),
        callId: text('call_id'),
        inputDigest: text('digest'),
      };
    case 'counter':
      return { kind, name: text('name'), used: number('used'), reserved: number('reserved') };
    case 'unsettled':
      return {
        kind,
        sessionId,
        callId: text('call_id'),
        toolName: text('tool'),
        inputDigest: text('digest'),
      };
    case 'state':
      return { kind, sessionId, subject: text('subject'), version: number('version'), text: text('text') };
    case 'sealed':
      return { kind, sessionId, callId: text('call_id') };
    case 'artifact':
      return {
        kind,
        sessionId,
        callId: text('call_id'),
        artifactId: text('artifact_id'),
        sizeBytes: number('bytes'),
        digest: `sha256:${text('hash')}`,
      };
  }
}

/** Another program may have stored bytes in a column of SQLite, which JSON cannot hold. */
type Place = string | number | null | { readonly bytes: string };

const toPlace = (value: unknown): Place =>
  value instanceof Uint8Array
    ? { bytes: Buffer.from(value).toString('base64') }
    : typeof value === 'string' || typeof value === 'number'
      ? value
      : null;
const fromPlace = (place: Place): SqlValue =>
  typeof place === 'object' && place !== null ? Buffer.from(place.bytes, 'base64') : place;
