/** Queries the read tables, one page at a time. A long search yields to other work. */
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from '../../ledger/call-query.ts';
import type { SearchTerm } from '../../ledger/call-search.ts';
import { settleTerms, toIndexTerms } from '../../ledger/call-search.ts';
import { toFilterTerms } from '../../ledger/filter-marks.ts';
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

import { partOf, partSql, partStart, toMatch } from './word-table.ts';
import type { FilterDialect, SqlCondition, SqlFilters } from '../../ledger/call-filters.ts';
import { toCallFilters } from '../../ledger/call-filters.ts';

type Condition = SqlCondition<SqlValue>;

/** Rows examined at once. Other work runs between two slices, whatever the caller asks for. */
const sliceRows = 1_000;

/** Asking the index for the words of one part takes about as long as examining this many rows. */
const rowsPerPart = 100;

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
      toCallFilters(query, dialect),
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
      { anyOf: [query.status === undefined ? [] : [['status = ?', query.status]]], rest },
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
      { anyOf: [indexed], rest },
      query,
    );
    return { rows: rows.map(rowToSessionSummary), next };
  }

  /** Newest first, from the cursor on. An index gives the rows; `rest` is checked row by row, so it runs in slices. */
  async #search<Row>(
    { table, at, id }: { readonly table: string; readonly at: string; readonly id: string },
    { anyOf, rest }: SqlFilters<SqlValue>,
    query: Pick<CallQuery, 'limit' | 'cursor' | 'scan'>,
  ): Promise<Page<Row>> {
    const limit = clampPageLimit(query.limit);
    // One row more than fits shows whether there is a next page.
    const slice = Math.max(Math.min(query.scan ?? sliceRows, sliceRows), limit + 1);
    const order = `ORDER BY ${at} DESC, ${id} DESC`;
    const names =
      table === 'sessions' ? '' : ' JOIN (SELECT session, session_id FROM sessions) USING (session)';
    const found: Row[] = [];
    let place = query.cursor === undefined ? undefined : parseCursor(query.cursor);
    for (let scanned = 0; ;) {
      const from: Condition[] = place === undefined ? [] : [[`(${at}, ${id}) < (?, ?)`, ...place]];
      const groups = anyOf.map((indexed) => ({
        sql: `SELECT * FROM ${table}${where([...indexed, ...from])} ${order}`,
        values: valuesOf([...indexed, ...from]),
      }));
      const { sql, values } =
        groups.length === 1 && groups[0] !== undefined ? groups[0] : union(groups, slice, order);
      const some = this.#prepare<Row>(
        `SELECT * FROM (${sql} LIMIT ?)${names}${where(rest)} ${order} LIMIT ?`,
      ).all(...values, slice, ...valuesOf(rest), limit + 1 - found.length);
      found.push(...some);
      if (found.length > limit) break;
      const end =
        rest.length === 0
          ? undefined
          : this.#prepare<Row>(`${sql} LIMIT 1 OFFSET ?`).get(...values, slice - 1);
      if (end === undefined) return { rows: found, next: undefined };
      place = placeOf(end, at, id);
      scanned += slice;
      if (query.scan !== undefined && scanned >= query.scan) return { rows: found, next: toCursor(place) };
      await new Promise(setImmediate);
    }
    const rows = found.slice(0, limit);
    return { rows, next: toCursor(placeOf(rows.at(-1) as Row, at, id)) };
  }

  /**
   * In the order of appends, from the cursor on. The index finds the words and the marks of filters; the rest is checked
   * row by row. Parts without a call of the period are skipped.
   */
  async #searchWords(query: CallQuery): Promise<Page<CallSummary>> {
    const terms = toIndexTerms(query);
    if (terms === undefined) return { rows: [], next: undefined };
    const newest = this.#prepare<{ readonly position: number }>(
      'SELECT max(position) AS position FROM calls',
    );
    const end = (newest.get()?.position ?? 0) + 1;
    const settled = [
      ...(await settleTerms(terms, (word) => this.#hasWord(word, end))),
      ...toFilterTerms(query),
    ];
    const matches = callMatcher(query);
    const limit = clampPageLimit(query.limit);
    const most = query.scan ?? Number.MAX_SAFE_INTEGER;
    const found: CallSummary[] = [];
    let last: PageCursor | undefined;
    let before = query.cursor === undefined ? end : Math.min(end, parseCursor(query.cursor)[1]);
    let slice = Math.min(limit * 2 + 1, sliceRows);
    for (let scanned = 0; ; slice = Math.min(slice * 2, sliceRows)) {
      const part = partOf(before - 1);
      if (!this.#hasCallAt(part, query)) {
        if (part <= 0) return { rows: found, next: undefined };
        before = partStart(part);
        continue;
      }
      const batch = Math.max(limit + 1, Math.min(slice, most - scanned));
      const { rows, rest } = this.#readWords(settled, before, batch);
      for (const row of rows) {
        const call = toSummary(row);
        if (!matches(call)) continue;
        if (found.length === limit) return { rows: found, next: toCursor(last as PageCursor) };
        found.push(call);
        last = [row.requested_at, row.position];
      }
      if (rest === undefined) return { rows: found, next: undefined };
      before = rest;
      scanned += rows.length + (settled.length === 0 ? 0 : rowsPerPart);
      if (scanned >= most) return { rows: found, next: toCursor([this.#timeBefore(before), before]) };
      await new Promise(setImmediate);
    }
  }

  /** The newest calls before a position that have the words, of one part. `rest`: the position before which to go on. */
  #readWords(
    terms: readonly SearchTerm[],
    before: number,
    batch: number,
  ): { readonly rows: readonly CallRow[]; readonly rest: number | undefined } {
    const part = partOf(before - 1);
    const rows =
      terms.length === 0
        ? this.#prepare<CallRow>(
            `SELECT calls.*, session_id FROM calls JOIN sessions USING (session)
             WHERE calls.position < ? ORDER BY calls.position DESC LIMIT ?`,
          ).all(before, batch)
        : this.#prepare<CallRow>(
            `SELECT calls.*, session_id FROM (SELECT rowid AS position FROM words WHERE words MATCH ? AND rowid < ?
               ORDER BY rowid DESC LIMIT ?) CROSS JOIN calls USING (position) CROSS JOIN sessions USING (session)
             ORDER BY calls.position DESC`,
          ).all(toMatch(terms, part), before, batch);
    if (rows.length === batch) return { rows, rest: rows.at(-1)?.position };
    return { rows, rest: terms.length === 0 || part <= 0 ? undefined : partStart(part) };
  }

  /** Does a part have a call of the period? Takes one look at an index. */
  #hasCallAt(part: number, { since, until }: CallQuery): boolean {
    if (since === undefined && until === undefined) return true;
    const period: Condition[] = [[`${partSql} = ?`, part]];
    if (since !== undefined) period.push(['requested_at >= ?', since]);
    if (until !== undefined) period.push(['requested_at < ?', until]);
    return (
      this.#prepare(`SELECT 1 FROM calls${where(period)} LIMIT 1`).get(...valuesOf(period)) !== undefined
    );
  }

  /** When the newest call before a position was requested. */
  #timeBefore(position: number): number {
    const row = this.#prepare<{ readonly requested_at: number }>(
      'SELECT requested_at FROM calls WHERE position < ? ORDER BY position DESC LIMIT 1',
    ).get(position);
    return row?.requested_at ?? 0;
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

/** How this store writes the conditions that differ. */
const dialect: FilterDialect = {
  toText: toSqlText,
  ofSession: 'session = (SELECT session FROM sessions WHERE session_id = ?)',
  isUnresolved: 'unresolved = 1',
  isResolved: 'unresolved = 0',
};

type Select = { readonly sql: string; readonly values: readonly SqlValue[] };

/** The first rows of several selects. Each is in order and read no further, which one select for all would not be. */
const union = (selects: readonly Select[], most: number, order: string): Select => ({
  sql: `${selects.map(({ sql }) => `SELECT * FROM (${sql} LIMIT ?)`).join(' UNION ALL ')} ${order}`,
  values: selects.flatMap(({ values }) => [...values, most]),
});

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
