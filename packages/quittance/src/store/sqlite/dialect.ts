/** What SQLite does in its own way where `store/sql` does the rest. */
import { hash } from 'node:crypto';
import type { ListedRows } from '../../ledger/ledger.ts';
import type { SearchTerm } from '../../ledger/call-search.ts';
import { meetsTerms } from '../../ledger/call-search.ts';
import { toCallWords, toFilterMarks } from '../../ledger/call-words.ts';
import type { SqlCondition, SqlDriver, SqlReader } from '../sql/driver.ts';
import { readStoredName, toWhere, toValues } from '../sql/driver.ts';
import type { CallRow, ListDialect, WordSearch, WordsFound } from '../sql/listed-rows.ts';
import { createListedRows, toSummary } from '../sql/listed-rows.ts';
import type { CursorDialect } from '../sql/cursors.ts';
import type { EntryDialect } from '../sql/entries.ts';
import type { SideDialect } from '../sql/side-rows.ts';
import type { SideStateDialect } from '../sql/side-state.ts';
import type { InspectDialect, StoredRow, WordCheck } from '../sql/inspect-lists.ts';
import type { MarkDialect } from '../sql/inspect-marks.ts';
import { markingTexts } from '../sql/inspect-marks.ts';
import {
  binSql,
  callColumns,
  confirmationColumns,
  partOf,
  partSql,
  partStart,
  sessionColumns,
  tallyColumns,
  tallyKeys,
  toCallRow,
  toConfirmationRow,
  toMatch,
  toSessionRow,
  toTallyRow,
  toWordText,
} from './call-lists.ts';
import { markOf } from './marks.ts';
import type { Database } from './database.ts';
import { prepareRow, sqliteNames, toSqlText } from './database.ts';

/** `whenListed`: resolves when the rows are there, and no older snapshot of the file is open. */
export const createSqliteRows = (database: Database, whenListed: () => Promise<void>): ListedRows => {
  const driver = createSqliteDriver(database);
  const all: SqlDriver['all'] = async (sql, values) => {
    await whenListed();
    return driver.all(sql, values);
  };
  return createListedRows({ ...driver, all }, listDialect);
};

export const createSqliteDriver = (database: Database): SqlDriver => ({
  all: async <Row>(sql: string, values: Parameters<SqlDriver['all']>[1] = []) =>
    database.row<Row>(sql).all(...values),
  async run(sql, values = []) {
    database.run(sql, ...values);
  },
});

const rowsPerPage = 500;

/** For a connection that has begun a transaction, or that no other work uses. */
export const createSqliteReader = (database: Database): SqlReader => ({
  ...createSqliteDriver(database),
  async *pages<Row>(sql: string, values: Parameters<SqlDriver['all']>[1] = []) {
    let page: Row[] = [];
    for (const row of prepareRow<Row>(database, sql).iterate(...values)) {
      if (page.push(row) < rowsPerPage) continue;
      yield page;
      page = [];
      await new Promise(setImmediate);
    }
    if (page.length > 0) yield page;
  },
});

const named = 'LEFT JOIN (SELECT session, name AS session_id FROM sessions) USING (session)';

export const entryDialect: EntryDialect = {
  ...sqliteNames,
  table: 'entries',
  entries: `entries ${named}`,
  call: 'call',
  ofSession: 'session = (SELECT session FROM sessions WHERE name = ?)',
  inSession: 'position',
  contains: 'instr(text, ?) > 0',
  visible: [],
  sessions: '(SELECT session, name AS session_id, sequence, hash FROM sessions) s',
  lastOf: `(SELECT position FROM entries AS x WHERE x.session = s.session AND x.position <= ? ORDER BY x.position DESC LIMIT 1)`,
};

export const cursorDialect: CursorDialect = { ...sqliteNames, cursors: 'cursors', owner: 'owner' };

export const sideDialect: SideDialect = {
  ...sqliteNames,
  sideTables: {
    claim: { from: 'SELECT key, session AS session_id, call AS call_id, digest FROM claims', by: ['key'] },
    counter: { from: 'SELECT name, used, reserved FROM counters', by: ['name'] },
    unsettled: {
      from: `SELECT position, session_id, call AS call_id, tool, digest FROM unsettled ${named}`,
      by: ['position'],
    },
    state: {
      from: `SELECT session, session_id, subject, version, text FROM states ${named}`,
      by: ['session', 'subject'],
    },
    sealed: {
      from: `SELECT session, session_id, call AS call_id FROM sealed ${named}`,
      by: ['session', 'call_id'],
    },
    artifact: {
      from: `SELECT session, session_id, artifact AS artifact_id, call AS call_id, bytes, hash FROM artifacts ${named}`,
      by: ['session', 'artifact_id'],
    },
  },
};

/** The tables outside the entries: see `SideStateDialect`. */
export const storedSide: SideStateDialect['stored'] = {
  claims: {
    table: 'claims',
    columns: { key: 'key', sessionId: 'session', callId: 'call', digest: 'digest' },
  },
  counters: { table: 'counters', columns: { name: 'name', used: 'used', reserved: 'reserved' } },
  unsettled: {
    table: 'unsettled',
    columns: { position: 'position', session: 'session', tool: 'tool', digest: 'digest', callId: 'call' },
  },
  states: {
    table: 'states',
    columns: { session: 'session', subject: 'subject', version: 'version', text: 'text' },
  },
  sealed: { table: 'sealed', columns: { session: 'session', callId: 'call', text: 'text' } },
  marks: { table: 'marks', columns: { key: 'key', position: 'position' } },
};

const listDialect: ListDialect = {
  ...sqliteNames,
  calls: { table: 'calls', columns: '*', at: 'requested_at', id: 'position' },
  confirmations: { table: 'confirmations', columns: '*', at: 'asked_at', id: 'position' },
  sessions: { table: 'session_counts', columns: '*', at: 'first_at', id: 'session' },
  isListed: [],
  tallies: 'tallies',
  withNames: 'JOIN (SELECT session, name AS session_id FROM sessions) USING (session)',
  ofSession: 'session = (SELECT session FROM sessions WHERE name = ?)',
  notOfSession: 'session IS NOT (SELECT session FROM sessions WHERE name = ?)',
  isUnresolved: 'unresolved = 1',
  isResolved: 'unresolved = 0',
  isNamed: (column, text) => [`${column} = ?`, toSqlText(text)],
  contains: (column) => `instr(lower(${column}), lower(?)) > 0`,
  bin: binSql,
  byIndex: (name) => ` INDEXED BY ${name}`,
  toTime: (at) => at,
  rowsPerSlice: 1_000,
  async hasWord(driver, word) {
    const whole = [{ anyOf: [word], as: 'whole' }] as const;
    for (let part = partOf(await readNewest(driver)); part >= 0; part--) {
      const rows = await driver.all('SELECT 1 FROM words WHERE words MATCH ? LIMIT 1', [
        toMatch(whole, part),
      ]);
      if (rows.length > 0) return true;
    }
    return false;
  },
  /** Reads calls of one part. Parts without a call of the period are skipped. */
  async findWords(driver, { terms, before, batch, ...period }) {
    let end = Math.min(before, (await readNewest(driver)) + 1);
    for (; !(await hasCallAt(driver, partOf(end - 1), period)); end = partStart(partOf(end - 1)))
      if (partOf(end - 1) <= 0) return { rows: [], examined: 0, rest: undefined };
    const { rows, examined, rest } = await readWords(driver, terms, end, batch);
    if (rest === undefined) return { rows, examined, rest };
    const [newest] = await driver.all<{ readonly requested_at: number }>(
      'SELECT requested_at FROM calls WHERE position < ? ORDER BY position DESC LIMIT 1',
      [rest],
    );
    return { rows, examined, rest: [newest?.requested_at ?? 0, rest] };
  },
};

async function readNewest(driver: SqlDriver): Promise<number> {
  const [row] = await driver.all<{ readonly position: number | null }>(
    'SELECT max(position) AS position FROM calls',
  );
  return row?.position ?? 0;
}

/** Asking the index for the words of one part takes about as long as examining this many rows. */
const rowsPerPart = 100;

/**
 * The newest calls before a position that have the words, of one part. The index finds settled calls, and every open one is
 * looked at. `rest`: the position before which to go on.
 */
async function readWords(
  driver: SqlDriver,
  terms: readonly SearchTerm[],
  before: number,
  batch: number,
): Promise<Omit<WordsFound, 'rest'> & { readonly rest: number | undefined }> {
  const named = 'SELECT calls.*, name AS session_id FROM';
  if (terms.length === 0) {
    const rows = await driver.all<CallRow>(
      `${named} calls JOIN sessions USING (session) WHERE calls.position < ? ORDER BY calls.position DESC LIMIT ?`,
      [before, batch],
    );
    return { rows, examined: rows.length, rest: rows.length === batch ? rows.at(-1)?.position : undefined };
  }
  const part = partOf(before - 1);
  const settled = await driver.all<CallRow>(
    `${named} (SELECT rowid AS position FROM words WHERE words MATCH ? AND rowid < ?
       ORDER BY rowid DESC LIMIT ?) CROSS JOIN calls USING (position) CROSS JOIN sessions USING (session)
     ORDER BY calls.position DESC`,
    [toMatch(terms, part), before, batch],
  );
  const open = await driver.all<CallRow>(
    `${named} calls INDEXED BY calls_open JOIN sessions USING (session)
     WHERE status <> 'settled' AND calls.position < ? AND calls.position >= ? ORDER BY calls.position DESC LIMIT ?`,
    [before, partStart(part), batch],
  );
  // Both lists are complete down to here.
  const until = Math.max(
    settled.length === batch ? (settled.at(-1)?.position ?? 0) : 0,
    open.length === batch ? (open.at(-1)?.position ?? 0) : 0,
  );
  const found = open.filter((row) => meetsTerms(wordsOfOpen(row), terms));
  const rows = [...settled, ...found]
    .filter(({ position }) => position >= until)
    .sort((left, right) => right.position - left.position);
  const rest = until > 0 ? until : part <= 0 ? undefined : partStart(part);
  return { rows, examined: settled.length + open.length + rowsPerPart, rest };
}

/** A call has no output before it is settled. */
function wordsOfOpen(row: CallRow): ReadonlySet<string> {
  const call = toSummary(row, sqliteNames);
  return new Set([...toCallWords(call, undefined), ...toFilterMarks(call)]);
}

/** Does a part have a call of the period? Takes one look at an index. */
async function hasCallAt(
  driver: SqlDriver,
  part: number,
  { since, until }: Pick<WordSearch, 'since' | 'until'>,
): Promise<boolean> {
  if (since === undefined && until === undefined) return true;
  const period: SqlCondition[] = [[`${partSql} = ?`, part]];
  if (since !== undefined) period.push(['requested_at >= ?', since]);
  if (until !== undefined) period.push(['requested_at < ?', until]);
  const rows = await driver.all(`SELECT 1 FROM calls${toWhere(period)} LIMIT 1`, toValues(period));
  return rows.length > 0;
}

const toRow = (columns: readonly string[], values: readonly unknown[]): StoredRow =>
  Object.fromEntries(columns.map((name, index) => [name, values[index]]));

export const inspectDialect: InspectDialect = {
  ...sqliteNames,
  entriesInOrder: `SELECT session, session_id, call AS call_id, position, text, bodies FROM entries ${named}
    ORDER BY session, call, sequence`,
  inspected: {
    calls: { columns: callColumns, key: ['position'] },
    confirmations: {
      select: `SELECT ${confirmationColumns.join(', ')}, session_id FROM confirmations ${named}`,
      columns: confirmationColumns,
      key: ['confirmation_id'],
    },
    sessions: {
      select: `SELECT ${sessionColumns.join(', ')}, session_id FROM session_counts ${named}`,
      columns: sessionColumns,
      key: ['session'],
    },
    tallies: {
      // Counts of calls that came and went again may be zero.
      select: 'SELECT * FROM tallies WHERE (calls, unresolved, cost_micros) IS NOT (0, 0, 0)',
      columns: tallyColumns,
      key: tallyColumns.slice(0, tallyKeys),
    },
  },
  toCallRow: ({ position, session, call }) => toRow(callColumns, toCallRow(position, Number(session), call)),
  toConfirmationRows: ({ position, session, call }) =>
    call.confirmations.map((asked) =>
      toRow(confirmationColumns, toConfirmationRow(position, Number(session), asked)),
    ),
  toSessionRow: (session, tally) => toRow(sessionColumns, toSessionRow(Number(session), tally)),
  toTallyRow: (tally) => toRow(tallyColumns, toTallyRow(tally)),
  readCallRows: (driver, calls) =>
    driver.all(
      `SELECT ${callColumns.join(', ')} FROM calls WHERE position IN (SELECT value FROM json_each(?))`,
      [JSON.stringify(calls.map(({ position }) => position))],
    ),
  strayCalls: `SELECT position, call_id, session_id FROM calls ${named}
    WHERE NOT EXISTS (SELECT 1 FROM entries AS e WHERE e.position = calls.position AND e.version = 1)`,
  createWordCheck,
};

/** Only sums of hashes are compared: an index can be large. */
function createWordCheck(driver: SqlReader): WordCheck {
  type Due = { readonly sessionId: string; readonly callId: string; readonly sum: number };
  const due = new Map<number, Due>();
  return {
    async compare(calls) {
      for (const call of calls) {
        let sum = 0;
        for (const word of new Set(toWordText(call.position, call.call)?.trimEnd().split(' ')))
          sum = (sum + valueOf(word)) % modulus;
        const { sessionId, callId } = call.call.summary;
        due.set(call.position, { sessionId, callId, sum });
      }
      return [];
    },
    async end() {
      // In the temporary schema, so nothing is written to the file. It ends with the connection.
      await driver.run('PRAGMA query_only = OFF');
      await driver.run(`CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(main, 'words', 'instance')`);
      await driver.run('PRAGMA query_only = ON');
      const sums = new Map<number, number>();
      let [last, value] = ['', 0];
      type Instance = { readonly term: string; readonly doc: number };
      for await (const places of driver.pages<Instance>('SELECT term, doc FROM temp.word_places'))
        for (const { term, doc } of places) {
          if (term !== last) [last, value] = [term, valueOf(term)];
          sums.set(doc, ((sums.get(doc) ?? 0) + value) % modulus);
        }
      const wrong: { readonly position: number; readonly sessionId?: string; readonly callId?: string }[] =
        [];
      for (const [position, { sessionId, callId, sum }] of due) {
        if ((sums.get(position) ?? 0) !== sum) wrong.push({ sessionId, callId, position });
        sums.delete(position);
      }
      for (const position of sums.keys()) wrong.push({ position });
      return wrong;
    },
  };
}

/** Sums stay exact: twice this is a safe integer. */
const modulus = 2 ** 52;

const valueOf = (term: string): number => Number.parseInt(hash('sha256', term, 'hex').slice(0, 13), 16);

export const markDialect: MarkDialect = {
  ...sqliteNames,
  claimMark: markOf.claim,
  counterMark: markOf.counter,
  stateMark: (session, subject) => markOf.state(Number(session), subject),
  marks: 'SELECT key, position FROM marks',
  markedEntries: `SELECT position, session, text FROM entries
    WHERE ${markingTexts.map((text) => `instr(text, '${text}')`).join(' OR ')} ORDER BY position`,
  async readOtherMarks(driver) {
    const marks: (readonly [string, number])[] = [];
    const sessions = await driver.all<{ name: string; position: number }>(
      `SELECT name, min(position) AS position FROM entries AS e JOIN sessions AS s ON s.session = e.session
       GROUP BY e.session`,
    );
    for (const { name, position } of sessions) {
      const sessionId = readStoredName(sqliteNames, name);
      if (sessionId !== undefined) marks.push([markOf.session(sessionId), position]);
    }
    // Verification of any ledger compares the unresolved effects with the entries.
    type Effect = { position: number; session: number; tool: string; digest: string; call: string };
    const effects = await driver.all<Effect>('SELECT position, session, tool, digest, call FROM unsettled');
    for (const { position, session, tool, digest, call } of effects) {
      const [toolName, inputDigest, callId] = [tool, digest, call].map((text) =>
        readStoredName(sqliteNames, text),
      );
      if (toolName !== undefined && inputDigest !== undefined && callId !== undefined)
        marks.push([markOf.effect(session, toolName, inputDigest, callId), position]);
    }
    return marks;
  },
};
