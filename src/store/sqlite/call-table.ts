/** Queries the read tables, one page at a time. A long search yields to other work. */
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from '../../ledger/call-query.ts';
import { outcomesOf } from '../../ledger/call-query.ts';
import type { SearchTerm } from '../../ledger/call-search.ts';
import { settleTerms, toIndexTerms } from '../../ledger/call-search.ts';
import { callMatcher } from '../../ledger/match-call.ts';
import type { ConfirmationQuery, ConfirmationSummary } from '../../ledger/confirmation-query.ts';
import type { OpenCall } from '../../ledger/queries.ts';
import type { PageCursor } from '../../ledger/page-cursor.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { clampPageLimit, parseCursor, toCursor } from '../../ledger/page-cursor.ts';
import type { Database, SqlValue, Statement } from './database.ts';
import { prepareRow } from './database.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';
import {
  type CallRow,
  type SessionRow,
  type ConfirmationRow,
  toSummary,
  toConfirmation,
  rowToSessionSummary,
} from './summary-rows.ts';

import { partOf, toMatch } from './word-table.ts';

type Condition = readonly [sql: string, ...values: SqlValue[]];

/** Number of rows examined before the search yields. A caller that bounds a search wants short steps. */
const widest = 20_000;

/** The same for a search by words. */
const widestBatch = 4_000;

const windowFor = (scan: number | undefined): number =>
  scan === undefined ? widest : Math.max(1_000, Math.min(widest, Math.ceil(scan / 4)));

type OpenRow = {
  readonly session_id: string;
  readonly call_id: string;
  readonly owner_id: string;
  readonly requested_at: number;
  readonly position: number;
  readonly status: CallSummary['status'];
  readonly mode: CallSummary['mode'];
};

/**
 * Position of a row in the list of open calls, and the position up to which the tables were filled for its first
 * page.
 */
export type OpenCursor = { readonly row: PageCursor; readonly target: number };

const toOpenCursor = ({ row, target }: OpenCursor): string => `${toCursor(row)}.${target.toString(36)}`;

export function parseOpenCursor(text: string): OpenCursor {
  const end = text.lastIndexOf('.');
  const place = { row: parseCursor(text.slice(0, end)), target: Number.parseInt(text.slice(end + 1), 36) };
  if (toOpenCursor(place) !== text) parseCursor(text); // which rejects it
  return place;
}

/** Before every possible call. */
const beforeAll: PageCursor = [Number.MIN_SAFE_INTEGER, 0];

export class CallTable {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement<unknown>>();
  readonly #open: Statement<OpenRow>;

  constructor(database: Database) {
    this.#database = database;
    this.#open = prepareRow(
      database,
      `SELECT session_id, call_id, owner_id, requested_at, calls.position, status, mode
       FROM calls INDEXED BY calls_open JOIN sessions USING (session)
       WHERE status <> 'settled' AND (requested_at, calls.position) > (?, ?)
       ORDER BY requested_at, calls.position LIMIT ?`,
    );
  }

  findOpen(after: OpenCursor | undefined, limit: number, target: number): OpenCall[] {
    return this.#open.all(...(after?.row ?? beforeAll), limit).map((row) => ({
      sessionId: fromSqlText(row.session_id),
      callId: fromSqlText(row.call_id),
      ownerId: row.owner_id,
      cursor: toOpenCursor({ row: [row.requested_at, row.position], target }),
      status: row.status,
      mode: row.mode,
    }));
  }

  async queryCalls(query: CallQuery): Promise<Page<CallSummary>> {
    if (query.text !== undefined || query.idStart !== undefined) return this.#searchWords(query);
    const { rows, next } = await this.#search<CallRow>(
      { table: 'calls', at: 'requested_at', id: 'position' },
      indexedOf(query),
      restOf(query),
      query,
    );
    return { rows: rows.map(toSummary), next };
  }

  async queryConfirmations(query: ConfirmationQuery): Promise<Page<ConfirmationSummary>> {
    const rest: Condition[] = [];
    if (query.sessionId !== undefined) rest.push(['session_id = ?', toSqlText(query.sessionId)]);
    if (query.toolName !== undefined) rest.push(['tool_name = ?', toSqlText(query.toolName)]);
    const { rows, next } = await this.#search<ConfirmationRow>(
      { table: 'confirmations', at: 'asked_at', id: 'position' },
      query.status === undefined ? [] : [['status = ?', query.status]],
      rest,
      query,
    );
    return { rows: rows.map(toConfirmation), next };
  }

  findConfirmation(confirmationId: string): ConfirmationSummary | undefined {
    const row = this.#prepare<ConfirmationRow>(
      `SELECT confirmations.*, session_id FROM confirmations JOIN sessions USING (session)
       WHERE confirmation_id = ?`,
    ).get(toSqlText(confirmationId));
    return row && toConfirmation(row);
  }

  async querySessions(query: SessionQuery): Promise<Page<SessionSummary>> {
    const indexed: Condition[] = [];
    indexed.push(
      query.sessionId === undefined
        ? ['session_id <> ?', ledgerSessionId]
        : ['session_id = ?', toSqlText(query.sessionId)],
    );
    if (query.until !== undefined) indexed.push(['first_at < ?', query.until]);
    const rest: Condition[] = [];
    if (query.since !== undefined) rest.push(['last_at >= ?', query.since]);
    if (query.text !== undefined) rest.push([contains('session_id'), toSqlText(query.text)]);
    const { rows, next } = await this.#search<SessionRow>(
      { table: 'sessions', at: 'first_at', id: 'session' },
      indexed,
      rest,
      query,
    );
    return { rows: rows.map(rowToSessionSummary), next };
  }

  /**
   * Newest first, from the cursor on. `indexed` narrows the examined rows, `rest` filters them. Only the filter is
   * slow, so it runs in windows.
   */
  async #search<Row>(
    { table, at, id }: { readonly table: string; readonly at: string; readonly id: string },
    indexed: readonly Condition[],
    rest: readonly Condition[],
    query: Pick<CallQuery, 'limit' | 'cursor' | 'scan'>,
  ): Promise<Page<Row>> {
    const limit = clampPageLimit(query.limit);
    // One row more than fits shows whether there is a next page.
    const window = Math.max(windowFor(query.scan), limit + 1);
    const found: Row[] = [];
    let place = query.cursor === undefined ? undefined : parseCursor(query.cursor);
    for (let scanned = 0; ;) {
      const from: Condition[] = place === undefined ? [] : [[`(${at}, ${id}) < (?, ?)`, ...place]];
      const inside = `SELECT * FROM ${table}${where([...indexed, ...from])} ORDER BY ${at} DESC, ${id} DESC`;
      const values = valuesOf([...indexed, ...from]);
      const names =
        table === 'sessions' ? '' : ' JOIN (SELECT session, session_id FROM sessions) USING (session)';
      const some = this.#prepare<Row>(
        `SELECT * FROM (${inside} LIMIT ${window})${names}${where(rest)} ORDER BY ${at} DESC, ${id} DESC LIMIT ?`,
      ).all(...values, ...valuesOf(rest), limit + 1 - found.length);
      found.push(...some);
      if (found.length > limit) break;
      const end =
        rest.length === 0
          ? undefined
          : this.#prepare<Row>(`${inside} LIMIT 1 OFFSET ${window - 1}`).get(...values);
      if (end === undefined) return { rows: found, next: undefined };
      place = placeOf(end, at, id);
      scanned += window;
      if (query.scan !== undefined && scanned >= query.scan) return { rows: found, next: toCursor(place) };
      await new Promise(setImmediate);
    }
    const rows = found.slice(0, limit);
    return { rows, next: toCursor(placeOf(rows.at(-1) as Row, at, id)) };
  }

  /** In the order of appends, from the cursor on. The index finds the words; the other filters check row by row. */
  async #searchWords(query: CallQuery): Promise<Page<CallSummary>> {
    const terms = toIndexTerms(query);
    if (terms === undefined) return { rows: [], next: undefined };
    const last = this.#prepare<{ readonly position: number }>('SELECT max(position) AS position FROM calls');
    const end = (last.get()?.position ?? 0) + 1;
    const settled = await settleTerms(terms, (word) => this.#hasWord(word, end));
    const matches = callMatcher(query);
    const limit = clampPageLimit(query.limit);
    const found: CallRow[] = [];
    let before = query.cursor === undefined ? end : Math.min(end, parseCursor(query.cursor)[1]);
    let batch = Math.min(limit * 2 + 1, widestBatch);
    for (let scanned = 0; ; batch = Math.min(batch * 2, widestBatch)) {
      const rows = this.#readWords(settled, before, batch);
      for (const row of rows) {
        if (!matches(toSummary(row))) continue;
        if (found.push(row) > limit) {
          const last = found[limit - 1] as CallRow; // a full page has a last row
          return {
            rows: found.slice(0, limit).map(toSummary),
            next: toCursor([last.requested_at, last.position]),
          };
        }
      }
      const end = rows.at(-1);
      if (end === undefined || rows.length < batch) return { rows: found.map(toSummary), next: undefined };
      before = end.position;
      scanned += rows.length;
      if (query.scan !== undefined && scanned >= query.scan)
        return { rows: found.map(toSummary), next: toCursor([end.requested_at, end.position]) };
      await new Promise(setImmediate);
    }
  }

  /** The newest calls before a position that have the words. */
  #readWords(terms: readonly SearchTerm[], before: number, batch: number): readonly CallRow[] {
    if (terms.length === 0)
      return this.#prepare<CallRow>(
        `SELECT calls.*, session_id FROM calls JOIN sessions USING (session)
         WHERE calls.position < ? ORDER BY calls.position DESC LIMIT ?`,
      ).all(before, batch);
    const find = this.#prepare<CallRow>(
      `SELECT calls.*, session_id FROM (SELECT rowid AS position FROM words WHERE words MATCH ? AND rowid < ?
         ORDER BY rowid DESC LIMIT ?) CROSS JOIN calls USING (position) CROSS JOIN sessions USING (session)
       ORDER BY calls.position DESC`,
    );
    const rows: CallRow[] = [];
    for (let part = partOf(before); part >= 0 && rows.length < batch; part--)
      rows.push(...find.all(toMatch(terms, part), before, batch - rows.length));
    return rows;
  }

  #hasWord(word: string, end: number): boolean {
    const has = this.#prepare('SELECT 1 FROM words WHERE words MATCH ? LIMIT 1');
    for (let part = partOf(end); part >= 0; part--)
      if (has.get(toMatch([{ anyOf: [word], as: 'whole' }], part)) !== undefined) return true;
    return false;
  }

  #prepare<Row>(sql: string): Statement<Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = prepareRow(this.#database, sql);
      this.#statements.set(sql, statement);
    }
    return statement as Statement<Row>;
  }
}

/** Each has an index that starts with it. */
function indexedOf(query: CallQuery): Condition[] {
  const found: Condition[] = [];
  if (query.sessionId !== undefined)
    found.push(['session = (SELECT session FROM sessions WHERE session_id = ?)', toSqlText(query.sessionId)]);
  if (query.toolName !== undefined) found.push(['tool_name = ?', toSqlText(query.toolName)]);
  // Most calls succeed, so successes are found by a scan.
  const outcomes = outcomesOf(query);
  if (outcomes !== undefined && !outcomes.includes('ToolExecutionResult'))
    found.push([`outcome <> 'ToolExecutionResult' AND ${isOneOf('outcome', outcomes)}`, ...outcomes]);
  if (query.code !== undefined) found.push(['code = ?', toSqlText(query.code)]);
  if (query.userId !== undefined) found.push(['user_id = ?', toSqlText(query.userId)]);
  if (query.ruleId !== undefined) found.push(['rule_id = ?', toSqlText(query.ruleId)]);
  // Written exactly as in the index, or SQLite would not use it.
  if (query.status !== undefined && query.status !== 'settled') found.push([`status <> 'settled'`]);
  if (query.unresolved === true) found.push(['unresolved = 1']);
  if (query.since !== undefined) found.push(['requested_at >= ?', query.since]);
  if (query.until !== undefined) found.push(['requested_at < ?', query.until]);
  return found;
}

function restOf(query: CallQuery): Condition[] {
  const found: Condition[] = [];
  if (query.status !== undefined) found.push(['status = ?', query.status]);
  if (query.unresolved === false) found.push(['unresolved = 0']);
  const outcomes = outcomesOf(query);
  if (outcomes?.includes('ToolExecutionResult') === true)
    found.push([isOneOf('outcome', outcomes), ...outcomes]);
  if (query.mode !== undefined) found.push(['mode = ?', query.mode]);
  return found;
}

const isOneOf = (column: string, values: readonly unknown[]): string =>
  values.length === 0 ? '1 = 0' : `${column} IN (${values.map(() => '?').join(', ')})`;

/** Ignores the case of the letters A to Z. */
const contains = (column: string): string => `instr(lower(${column}), lower(?)) > 0`;

const where = (conditions: readonly Condition[]): string =>
  conditions.length === 0 ? '' : ` WHERE ${conditions.map(([sql]) => sql).join(' AND ')}`;

const valuesOf = (conditions: readonly Condition[]): SqlValue[] =>
  conditions.flatMap(([, ...values]) => values);

const placeOf = (row: unknown, at: string, id: string): PageCursor => {
  const { [at]: time, [id]: number } = row as { [column: string]: number };
  return [time as number, number as number];
};
