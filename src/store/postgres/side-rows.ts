/** State that is stored outside entries, a page of rows at a time. */
import type { SideRow } from '../../ledger/side-row.ts';
import { exactNumbers } from './exact-numbers.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText } from './pg-text.ts';

type Row = Readonly<Record<string, string & number>>;
type Table = {
  readonly select: string;
  readonly by: readonly string[];
  readonly toRow: (row: Row) => SideRow;
};

const rowsPerPage = 500;

const tables: readonly Table[] = [
  {
    select: 'SELECT key, session_id, call_id, digest FROM @claims WHERE true',
    by: ['key'],
    toRow: (row) => ({
      kind: 'claim',
      key: nameIn(row, 'key'),
      sessionId: nameIn(row, 'session_id'),
      callId: nameIn(row, 'call_id'),
      inputDigest: nameIn(row, 'digest'),
    }),
  },
  {
    // A row without an entry was made to be locked by an append that was refused.
    select: `SELECT ${exactNumbers}, name, used, reserved FROM @counters WHERE position IS NOT NULL`,
    by: ['name'],
    toRow: (row) => ({
      kind: 'counter',
      name: nameIn(row, 'name'),
      used: Number(row['used']),
      reserved: Number(row['reserved']),
    }),
  },
  {
    select: 'SELECT session_id, call_id, tool, digest FROM @unsettled WHERE true',
    by: ['session_id', 'call_id'],
    toRow: (row) => ({
      kind: 'unsettled',
      sessionId: nameIn(row, 'session_id'),
      callId: nameIn(row, 'call_id'),
      toolName: nameIn(row, 'tool'),
      inputDigest: nameIn(row, 'digest'),
    }),
  },
  {
    select: 'SELECT session_id, subject, version, text FROM @states WHERE true',
    by: ['session_id', 'subject'],
    toRow: (row) => ({
      kind: 'state',
      sessionId: nameIn(row, 'session_id'),
      subject: nameIn(row, 'subject'),
      version: Number(row['version']),
      text: textIn(row, 'text'),
    }),
  },
  {
    select: 'SELECT session_id, call_id FROM @sealed WHERE true',
    by: ['session_id', 'call_id'],
    toRow: (row) => ({
      kind: 'sealed',
      sessionId: nameIn(row, 'session_id'),
      callId: nameIn(row, 'call_id'),
    }),
  },
  {
    select: 'SELECT session_id, artifact_id, call_id, bytes, hash FROM @artifacts WHERE true',
    by: ['session_id', 'artifact_id'],
    toRow: (row) => ({
      kind: 'artifact',
      sessionId: nameIn(row, 'session_id'),
      callId: nameIn(row, 'call_id'),
      artifactId: nameIn(row, 'artifact_id'),
      sizeBytes: Number(row['bytes']),
      digest: `sha256:${textIn(row, 'hash')}`,
    }),
  },
];

export async function* listSideRows(pool: PgPool): AsyncGenerator<SideRow, void, undefined> {
  for (const { select, by, toRow } of tables) {
    const columns = by.join(', ');
    let last: Row | undefined;
    for (;;) {
      const after =
        last === undefined ? '' : ` AND (${columns}) > (${by.map((_, n) => `$${n + 1}`).join(', ')})`;
      const rows: readonly Row[] = await pool.read<Row>(
        `${select}${after} ORDER BY ${columns} LIMIT ${rowsPerPage}`,
        last === undefined ? [] : by.map((column) => textIn(last as Row, column)), // checked in the condition
      );
      for (const row of rows) yield toRow(row);
      last = rows.at(-1);
      if (rows.length < rowsPerPage) break;
    }
  }
}

const textIn = (row: Row, column: string): string => String(row[column]);

/** A name that this program did not write is shown as it is: `verify` finds nothing under it. */
function nameIn(row: Row, column: string): string {
  try {
    return fromPgText(textIn(row, column));
  } catch {
    return textIn(row, column);
  }
}
