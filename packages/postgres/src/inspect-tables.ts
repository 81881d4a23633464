/**
 * Compares everything in the tables except the chains with the entries: the tables themselves, heads, columns, marks,
 * cursors and the rows of lists. The verification of any ledger compares the chains and the state outside entries.
 *
 * 1. Nothing is written. Everything is read as of one moment, a page at a time.
 * 2. Nothing is trusted. Unreadable data is a finding, and the inspection continues.
 */
import { isQuittanceError } from 'quittance/internal/base/error';
import { hourMs } from 'quittance/internal/ledger/call-tally';
import { saysWhereItBelongs } from 'quittance/internal/ledger/formats/v1/read-entry';
import type { StoreFinding } from 'quittance/internal/ledger/store-finding';
import type { SqlReader } from 'quittance/internal/store/sql/driver';
import { readStoredName } from 'quittance/internal/store/sql/driver';
import type { TableFinding } from 'quittance/internal/store/sql/findings';
import { Findings } from 'quittance/internal/store/sql/findings';
import type { InspectDialect, WordCheck } from 'quittance/internal/store/sql/inspect-lists';
import { inspectLists } from 'quittance/internal/store/sql/inspect-lists';
import type { MarkDialect } from 'quittance/internal/store/sql/inspect-marks';
import { inspectCursors, inspectMarks, markingTexts } from 'quittance/internal/store/sql/inspect-marks';
import { toAsked, toCallRow, toHeadRow, toWordText, listedNames, sessionCounts } from './list-functions.ts';
import { createPgReader, entriesInOrder, pgMarks } from './dialect.ts';
import type { PgPool } from './pg-pool.ts';
import { pgNames, toPgText, toTextArray } from './pg-values.ts';
import { horizonSql } from './positions.ts';
import { inspectSchema } from './schema-check.ts';

type Step = (reader: SqlReader, signal: AbortSignal) => Promise<Iterable<TableFinding>>;

export async function* inspectTables(
  pool: PgPool,
  signal: AbortSignal,
): AsyncGenerator<StoreFinding, void, undefined> {
  const schema = await pool.snapshot((query) => inspectSchema(query, pool.settings.schema));
  yield* schema;
  for (const step of [inspectHeads, inspectColumns, inspectEntryMarks, inspectReaders, inspectRows]) {
    if (signal.aborted) return;
    try {
      const found = await pool.snapshot((query) => step(createPgReader(query), signal));
      for (const finding of found) yield { ...finding, level: 'problem' };
    } catch (error) {
      if (!isQuittanceError(error) || error.code === 'ledger.unavailable') throw error;
      // A changed table was reported, and may be unreadable.
      if (!schema.some(({ level }) => level === 'problem'))
        yield { kind: 'side_row', level: 'problem', message: error.message };
    }
  }
}

const inspectHeads: Step = async (reader) => {
  const rows = await reader.all<{ session_id: string }>(otherHeadsSql);
  return rows.map(({ session_id }) => ({
    kind: 'side_row',
    message: `The table "sessions" does not name the last entry of session ${JSON.stringify(nameIn(session_id))}. Another program changed it. \`quittance rebuild\` makes it again.`,
    sessionId: nameIn(session_id),
  }));
};

const otherHeadsSql = `SELECT coalesce(s.session_id, e.session_id) AS session_id FROM @sessions s
  FULL JOIN (SELECT DISTINCT ON (session_id) session_id, sequence, hash, position FROM @entries
    ORDER BY session_id, sequence DESC) e ON e.session_id = s.session_id
  WHERE (s.sequence, s.hash, s.position) IS DISTINCT FROM (e.sequence, e.hash, e.position) AND NOT (s.sequence = 0 AND e.sequence IS NULL)
  LIMIT 100`;

type ColumnsRow = {
  readonly position: number;
  readonly session_id: string;
  readonly call_id: string | null;
  readonly version: number | null;
  readonly said: string;
};

/** Appends and reads of a call go by columns, which are not hashed. */
const inspectColumns: Step = async (reader) => {
  const found = new Findings('the columns of entries');
  for await (const rows of reader.pages<ColumnsRow>(columnsSql))
    for (const row of rows)
      if (!belongs(row))
        found.add({
          kind: 'side_row',
          message:
            'The columns of the entry name a different session, call or version than its text. Another program changed them. Restore a backup.',
          sessionId: nameIn(row.session_id),
          position: row.position,
        });
  return found.all();
};

/** The part of the text with the session, the call and the version. A character takes up to twelve in JSON. */
const columnsSql = `SELECT position, session_id, call_id, version, substr(text, strpos(text, ',"session":'),
    100 + 12 * (length(session_id) + coalesce(length(call_id), 0))) AS said FROM @entries ORDER BY session_id, sequence`;

function belongs({ said, session_id, call_id, version }: ColumnsRow): boolean {
  if (typeof said !== 'string' || said === '') return true; // the chain check reports it
  return saysWhereItBelongs(said, nameIn(session_id), call_id === null ? null : nameIn(call_id), version);
}

/** A name that this program did not write is shown as it is. */
const nameIn = (text: string): string => readStoredName(pgNames, text) ?? text;

const inspectEntryMarks: Step = async (reader) => inspectMarks(reader, markDialect);

const markDialect: MarkDialect = {
  ...pgNames,
  ...pgMarks,
  marks: 'SELECT key, position FROM @marks ORDER BY key',
  markedEntries: `SELECT position, session_id AS session, text FROM @entries
    WHERE ${markingTexts.map((text) => `strpos(text, '${text}') > 0`).join(' OR ')} ORDER BY position`,
  // The head of a session has a digest of its unresolved effects.
  readOtherMarks: async () => [],
};

/** A reader may have come to the horizon, after the last entry. */
const inspectReaders: Step = async (reader) => {
  const [end] = await reader.all<{ last: number }>(
    `SELECT greatest(coalesce(max(position), 0), ${horizonSql} - 1) AS last FROM @entries`,
  );
  const cursors = 'SELECT name, position, holder, owner_id FROM @cursors ORDER BY name';
  return inspectCursors(reader, pgNames, cursors, end?.last ?? 0);
};

const inspectRows: Step = async (reader, signal) => {
  const found: TableFinding[] = [];
  for await (const finding of inspectLists(reader, inspectDialect, signal)) found.push(finding);
  return found;
};

const confirmationColumns = [
  'session_id',
  'call_id',
  'confirmation_id',
  'position',
  'tool_name',
  'status',
  'asked_at',
  'expires_at',
];
const sessionColumns = ['session_id', 'first_position', 'first_at', 'last_at', ...sessionCounts];
const talliedKey = ['hour', 'tool_name', 'bin', 'code', 'outcome', 'mode'];

const inspectDialect: InspectDialect = {
  ...pgNames,
  entriesInOrder: entriesInOrder(''),
  inspected: {
    calls: { columns: listedNames, key: ['session_id', 'call_id'] },
    confirmations: {
      select: `SELECT ${confirmationColumns.join(', ')} FROM @read_confirmations ORDER BY session_id, call_id`,
      columns: confirmationColumns,
      key: ['session_id', 'call_id', 'confirmation_id'],
    },
    sessions: {
      select: `SELECT ${sessionColumns.join(', ')} FROM @sessions WHERE sequence > 0 ORDER BY session_id`,
      columns: sessionColumns,
      key: ['session_id'],
    },
    tallies: {
      select: `SELECT * FROM (SELECT ${talliedKey.join(', ')}, sum(calls)::bigint AS calls, sum(unresolved)::bigint AS unresolved,
          sum(cost_micros)::bigint AS cost_micros FROM @read_tallies GROUP BY ${talliedKey.join(', ')}) t
        WHERE (calls, unresolved, cost_micros) <> (0, 0, 0)`,
      columns: [...talliedKey, 'calls', 'unresolved', 'cost_micros'],
      key: talliedKey,
    },
  },
  toCallRow: ({ session, call_id, position, call }) => ({
    session_id: session,
    call_id,
    position,
    ...toCallRow(call),
  }),
  toConfirmationRows: ({ session, call_id, position, call }) =>
    toAsked(call).map(({ id, ...asked }) => ({
      session_id: session,
      call_id,
      confirmation_id: id,
      position,
      tool_name: toPgText(call.summary.toolName),
      ...asked,
    })),
  toSessionRow: (session, tally, first) => ({ session_id: session, ...toHeadRow(tally, first) }),
  /** Only settled calls are stored. */
  toTallyRow: ({ toolName, code, status, costMicros, ...rest }) =>
    status !== 'settled'
      ? undefined
      : {
          ...rest,
          tool_name: toPgText(toolName),
          code: code === '' ? '' : toPgText(code),
          cost_micros: costMicros,
        },
  readCallRows: (reader, calls) =>
    reader.all(`SELECT ${listedNames.join(', ')} FROM @read_calls WHERE ${areCalls}`, toNames(calls)),
  strayCalls: `SELECT session_id, call_id, position FROM @read_calls c
    WHERE NOT EXISTS (SELECT 1 FROM @entries e WHERE e.session_id = c.session_id AND e.call_id = c.call_id) LIMIT 1000`,
  createWordCheck: (reader) => ({
    async compare(calls) {
      type WordRow = Readonly<Record<'session_id' | 'call_id' | 'words', string>> &
        Readonly<Record<'position' | 'requested_at', number>>;
      const rows = await reader.all<WordRow>(wordsSql, toNames(calls));
      const known = new Map(rows.map((row) => [JSON.stringify([row.session_id, row.call_id]), row]));
      return calls.filter((each) => {
        const row = known.get(JSON.stringify([each.session, each.call_id]));
        return (
          row?.words !== sortedWords(each) ||
          row.position !== each.position ||
          row.requested_at !== toCallRow(each.call)['requested_at']
        );
      });
    },
    async end() {
      const surplus = await reader.all<{ session_id: string; call_id: string; position: number }>(
        surplusWordsSql,
      );
      const parts = await reader.all<{ message: string }>(wrongPartsSql);
      return [
        ...surplus.map(({ session_id, call_id, position }) => ({
          sessionId: nameIn(session_id),
          callId: nameIn(call_id),
          position,
        })),
        ...parts,
      ];
    },
  }),
};

const areCalls =
  '(session_id, call_id) IN (SELECT x.s COLLATE "C", x.c COLLATE "C" FROM unnest(?::text[], ?::text[]) x(s, c))';

const toNames = (
  calls: readonly { session: string | number; call_id: string | null }[],
): [Buffer, Buffer] => [
  toTextArray(calls.map(({ session }) => String(session))),
  toTextArray(calls.map(({ call_id }) => call_id)),
];

/** The call says in which part its words are. The part before them is taken off. */
const wordsSql = `SELECT c.session_id, c.call_id, w.position, w.requested_at,
    (SELECT coalesce(string_agg(CASE WHEN starts_with(l, c.part || '|') THEN substr(l, length(c.part || '|') + 1) ELSE l END, ' '
      ORDER BY l COLLATE "C"), '') FROM unnest(tsvector_to_array(w.words)) l) AS words
  FROM (SELECT session_id, call_id, part, position FROM @read_calls WHERE ${areCalls}) c
  JOIN @read_words w ON w.part = c.part AND w.position = c.position
    AND w.session_id = c.session_id AND w.call_id = c.call_id`;

/** In the order of their bytes, each once, as the server has them. */
const sortedWords = ({ call }: Parameters<WordCheck['compare']>[0][number]): string =>
  [...new Set(toWordText(call).split(' '))]
    .map((word) => Buffer.from(word))
    .sort((one, other) => Buffer.compare(one, other))
    .join(' ');

const surplusWordsSql = `SELECT w.session_id, w.call_id, w.position FROM @read_words w LEFT JOIN @read_calls c USING (session_id, call_id)
  WHERE (c.part, c.position) IS DISTINCT FROM (w.part, w.position) LIMIT 1000`;

/** A part with another span would hide calls from searches. */
const wrongPartsSql = `SELECT 'The table "read_parts" does not begin at position 0.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM @read_parts WHERE part = 0 AND position = 0)
  UNION ALL SELECT 'The part ' || n.part || ' of the search index has other times than its calls.'
    FROM (SELECT part, min(requested_at) / ${hourMs} AS low, max(requested_at) / ${hourMs} AS high FROM @read_words GROUP BY part) n
    LEFT JOIN @read_parts p USING (part) WHERE (n.low >= p.first_hour AND n.high <= p.last_hour) IS NOT TRUE`;
