/** What PostgreSQL does in its own way where `store/sql` does the rest. Its search index is in `list-functions.ts`. */
import type { SearchTerm } from 'quittance/internal/ledger/call-search';
import { hourMs } from 'quittance/internal/ledger/call-tally';
import type { SqlDriver, SqlReader } from 'quittance/internal/store/sql/driver';
import type { CallRow, ListDialect } from 'quittance/internal/store/sql/listed-rows';
import { exactNumbers, pgNames, toPgText } from './pg-values.ts';
import { listedNames, partMark, sessionCounts, startOf } from './list-functions.ts';
import type { EntryDialect } from 'quittance/internal/store/sql/entries';
import type { MarkDialect } from 'quittance/internal/store/sql/inspect-marks';
import type { SideDialect } from 'quittance/internal/store/sql/side-rows';
import type { SideStateDialect } from 'quittance/internal/store/sql/side-state';
import type { PgQuery } from './pg-pool.ts';
import { horizonSql } from './positions.ts';

/** Runs statements of the code that both SQL stores share. */
export const createPgDriver = (query: PgQuery): SqlDriver => ({
  all: (sql, values) => query(toNumbered(sql), values),
  async run(sql, values) {
    await query(toNumbered(sql), values);
  },
});

/**
 * The planner knows little about entries that are seconds old: it would sort their texts, on disk and with all cores. In
 * the order of the index, reading them takes half the time.
 */
const inOrder: readonly string[] = [
  'max_parallel_workers_per_gather = 0',
  'enable_sort = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'enable_seqscan = off',
  'enable_bitmapscan = off',
];
const beginOrderSql: string = inOrder.map((setting) => `SET LOCAL ${setting};`).join(' ');
const endOrderSql: string = inOrder
  .map((setting) => `SET LOCAL ${setting.replace(/=.*/, '= DEFAULT')};`)
  .join(' ');

const rowsPerPage = 1_000;

/** `query`: of a transaction. */
export function createPgReader(query: PgQuery): SqlReader {
  let cursors = 0;
  return {
    ...createPgDriver(query),
    async *pages<Row>(sql: string, values: Parameters<SqlDriver['all']>[1] = []) {
      const name = `pages_${cursors++}`;
      await query(beginOrderSql);
      await query(`DECLARE ${name} NO SCROLL CURSOR FOR ${toNumbered(sql)}`, values);
      await query(endOrderSql);
      for (;;) {
        const rows = await query<Row>(`FETCH ${rowsPerPage} FROM ${name}`);
        if (rows.length > 0) yield rows;
        if (rows.length < rowsPerPage) break;
      }
      await query(`CLOSE ${name}`);
    },
  };
}

/** See `readCallsInOrder`. `where`: chooses some of the entries `e`. */
export const entriesInOrder = (where: string): string =>
  `SELECT e.session_id AS session, e.session_id, e.call_id, e.position, e.text, e.bodies FROM @entries e ${where}
   ORDER BY e.session_id, e.call_id, e.sequence`;

/** PostgreSQL numbers the values of a statement. */
function toNumbered(sql: string): string {
  let number = 0;
  return sql.replaceAll('?', () => `$${++number}`);
}

export const entryDialect: EntryDialect = {
  ...pgNames,
  table: '@entries',
  entries: '@entries',
  call: 'call_id',
  ofSession: 'session_id = ?',
  inSession: 'sequence',
  contains: 'strpos(text, ?) > 0',
  visible: [[`position < ${horizonSql}`]],
  sessions: '@sessions s',
  lastOf: `(SELECT position FROM @entries x WHERE x.session_id = s.session_id AND x.position <= ? ORDER BY x.sequence DESC LIMIT 1)`,
};

export const sideDialect: SideDialect = {
  ...pgNames,
  sideTables: {
    claim: { from: 'SELECT key, session_id, call_id, digest FROM @claims', by: ['key'] },
    // A row without an entry was made to be locked by an append that was refused.
    counter: {
      from: `SELECT ${exactNumbers}, name, used, reserved FROM @counters WHERE position IS NOT NULL`,
      by: ['name'],
    },
    unsettled: {
      from: 'SELECT session_id, call_id, tool, digest FROM @unsettled',
      by: ['session_id', 'call_id'],
    },
    state: {
      from: 'SELECT session_id, subject, version, text FROM @states',
      by: ['session_id', 'subject'],
    },
    sealed: { from: 'SELECT session_id, call_id FROM @sealed', by: ['session_id', 'call_id'] },
    artifact: {
      from: 'SELECT session_id, artifact_id, call_id, bytes, hash FROM @artifacts',
      by: ['session_id', 'artifact_id'],
    },
  },
};

/** The keys of marks: see `append-functions.ts`. */
export const pgMarks: Pick<MarkDialect, 'claimMark' | 'counterMark' | 'stateMark'> = {
  claimMark: (key) => `claim ${toPgText(key)}`,
  counterMark: (name) => `counter ${toPgText(name)}`,
  stateMark: (session, subject) =>
    `state ${Array.from(String(session)).length}:${session}${toPgText(subject)}`,
};

/** The tables outside the entries: see `SideStateDialect`. A session has no row of its own there. */
export const storedSide: Pick<SideStateDialect, 'stored' | 'toText' | 'fromText' | 'takeSession'> = {
  ...pgNames,
  stored: {
    claims: {
      table: '@claims',
      columns: { key: 'key', sessionId: 'session_id', callId: 'call_id', digest: 'digest' },
    },
    counters: {
      table: '@counters',
      columns: { name: 'name', used: 'used', reserved: 'reserved', position: 'position' },
    },
    unsettled: {
      table: '@unsettled',
      columns: {
        session: 'session_id',
        callId: 'call_id',
        tool: 'tool',
        digest: 'digest',
        position: 'position',
      },
    },
    states: {
      table: '@states',
      columns: { session: 'session_id', subject: 'subject', version: 'version', text: 'text' },
    },
    sealed: { table: '@sealed', columns: { session: 'session_id', callId: 'call_id', text: 'text' } },
    marks: { table: '@marks', columns: { key: 'key', position: 'position' } },
  },
  takeSession: async (_, sessionId) => toPgText(sessionId),
};

const listedColumns = listedNames.join(', ');

export const listDialect: ListDialect = {
  ...pgNames,
  calls: { table: '@read_calls', columns: listedColumns, at: 'requested_at', id: 'position' },
  confirmations: { table: '@read_confirmations', columns: '*', at: 'asked_at', id: 'position' },
  sessions: {
    table: '@sessions',
    columns: `session_id, first_position, first_at, last_at, ${sessionCounts.join(', ')}`,
    at: 'first_at',
    id: 'first_position',
  },
  // A head without entries was made by an append that was refused.
  isListed: [['first_at IS NOT NULL']],
  /** Settled calls are counted with their entries; open ones are few, so they are counted here. */
  tallies: `(SELECT hour, tool_name, bin, code, outcome, mode, 'settled' AS status, calls, unresolved, cost_micros
    FROM @read_tallies UNION ALL SELECT requested_at / ${hourMs}, tool_name, bin, coalesce(code, ''), coalesce(outcome, ''), mode,
      status, 1, unresolved::integer, cost_micros FROM @read_calls WHERE status <> 'settled') tallied`,
  withNames: '',
  ofSession: 'session_id = ?',
  notOfSession: 'session_id <> ?',
  isUnresolved: 'unresolved',
  isResolved: 'NOT unresolved',
  /** The indexes have only the beginnings of names. */
  isNamed: (column, text) => {
    const name = toPgText(text);
    return [`${startOf(column)} = ${startOf('?')} AND ${column} = ?`, name, name];
  },
  contains: (column) => `strpos(lower(coalesce(${column}, '') COLLATE "C"), lower(?::text COLLATE "C")) > 0`,
  bin: 'bin',
  byIndex: () => '',
  // Its columns count in whole milliseconds.
  toTime: Math.ceil,
  rowsPerSlice: 5_000,
  async hasWord(driver, word) {
    const query = toWordQuery([{ anyOf: [word], as: 'whole' }]);
    const [row] = await driver.all<{ readonly found: boolean }>('SELECT @has_word(?) AS found', [query]);
    return row?.found === true;
  },
  async findWords(driver, { terms, before, batch, since, until }) {
    const period = [since ?? Number.MIN_SAFE_INTEGER, until ?? Number.MAX_SAFE_INTEGER].map(Math.ceil);
    const rows = await driver.all<CallRow>(findSql, [toWordQuery(terms), before, ...period, batch]);
    const last = rows.length < batch ? undefined : rows.at(-1);
    return { rows, examined: rows.length, rest: last && [last.requested_at, last.position] };
  },
};

const findSql = `SELECT ${listedNames.map((name) => `c.${name}`).join(', ')} FROM @find_words(?, ?, ?, ?, ?) WITH ORDINALITY w(session_id, call_id, o)
  JOIN @read_calls c ON c.session_id = w.session_id AND c.call_id = w.call_id ORDER BY w.o`;

/** A `tsquery` for any part. Words and marks have neither quotation marks nor backslashes. Null: everything matches. */
const toWordQuery = (terms: readonly SearchTerm[]): string | null =>
  terms.length === 0
    ? null
    : terms
        .map(
          ({ anyOf, as }) =>
            `(${anyOf.map((word) => `'${partMark}|${word}'${as === 'whole' ? '' : ':*'}`).join(' | ')})`,
        )
        .join(' & ');
