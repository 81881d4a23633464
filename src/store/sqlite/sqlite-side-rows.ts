/** State kept outside entries, read a page of rows at a time so that the event loop stays free. */
import type { SideRow } from '../../ledger/side-row.ts';
import type { Database, SqlValue } from './database.ts';
import { prepareRow } from './database.ts';
import { fromSqlText } from './sql-text.ts';

type Row = Readonly<Record<string, string | number | null>>;
/** A table: its query, the columns that order it, and the meaning of a row. */
type Table = {
  readonly from: string;
  readonly by: readonly string[];
  readonly toRow: (row: Row) => SideRow;
};

const rowsPerPage = 500;
const named = 'LEFT JOIN sessions USING (session)';

const tables: readonly Table[] = [
  {
    from: 'SELECT key, session, call, digest FROM claims',
    by: ['key'],
    toRow: ({ key, session, call, digest }) => ({
      kind: 'claim',
      key: toText(key),
      sessionId: toText(session),
      callId: toText(call),
      inputDigest: toText(digest),
    }),
  },
  {
    from: 'SELECT name, used, reserved FROM counters',
    by: ['name'],
    toRow: ({ name, used, reserved }) => ({
      kind: 'counter',
      name: toText(name),
      used: toNumber(used),
      reserved: toNumber(reserved),
    }),
  },
  {
    from: `SELECT position, name, call, tool, digest FROM unsettled ${named}`,
    by: ['position'],
    toRow: ({ name, call, tool, digest }) => ({
      kind: 'unsettled',
      sessionId: toName(name),
      callId: toText(call),
      toolName: toText(tool),
      inputDigest: toText(digest),
    }),
  },
  {
    from: `SELECT session, subject, version, text, name FROM states ${named}`,
    by: ['session', 'subject'],
    toRow: ({ name, subject, version, text }) => ({
      kind: 'state',
      sessionId: toName(name),
      subject: toText(subject),
      version: toNumber(version),
      text: toText(text),
    }),
  },
  {
    from: `SELECT session, name, call FROM sealed ${named}`,
    by: ['session', 'call'],
    toRow: ({ name, call }) => ({ kind: 'sealed', sessionId: toName(name), callId: toText(call) }),
  },
  {
    from: `SELECT session, artifact, name, call, bytes, artifacts.hash FROM artifacts ${named}`,
    by: ['session', 'artifact'],
    toRow: ({ name, call, artifact, bytes, hash }) => ({
      kind: 'artifact',
      sessionId: toName(name),
      callId: toText(call),
      artifactId: toText(artifact),
      sizeBytes: toNumber(bytes),
      digest: `sha256:${toText(hash)}`,
    }),
  },
];

export async function* listSqliteSideRows(database: Database): AsyncGenerator<SideRow, void, undefined> {
  for (const { from, by, toRow } of tables) {
    const columns = by.join();
    const first = prepareRow<Row>(database, `${from} ORDER BY ${columns} LIMIT ${rowsPerPage}`);
    const next = prepareRow<Row>(
      database,
      `${from} WHERE (${columns}) > (${by.map(() => '?').join()}) ORDER BY ${columns} LIMIT ${rowsPerPage}`,
    );
    for (let rows = first.all(); ;) {
      for (const row of rows) yield toRow(row);
      const last = rows.at(-1);
      if (last === undefined || rows.length < rowsPerPage) break;
      await new Promise(setImmediate);
      rows = next.all(...by.map((column): SqlValue => last[column] ?? null));
    }
  }
}

/** A value that we cannot have written is shown as it is: no lookup by it will succeed. */
function toText(value: string | number | null | undefined): string {
  if (typeof value !== 'string') return `(not a text: ${String(value)})`;
  const text = value;
  try {
    return fromSqlText(text);
  } catch {
    return text;
  }
}

/** NaN for a value that is not a number, because NaN equals nothing. */
const toNumber = (value: string | number | null | undefined): number =>
  typeof value === 'number' ? value : Number.NaN;

const toName = (name: string | number | null | undefined): string | undefined =>
  name === null || name === undefined ? undefined : toText(name);
