/** Lists from the read tables, which are filled up to now before each answer. */
import { isQuittanceError } from '../../base/error.ts';
import type { CallCount, CallCountQuery, RuleDenials } from '../../ledger/call-count.ts';
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from '../../ledger/call-query.ts';
import { toIndexTerms } from '../../ledger/call-search.ts';
import type { CallTally, TallyName, TallyQuery } from '../../ledger/call-tally.ts';
import { hourMs, hourOf } from '../../ledger/call-tally.ts';
import type { ConfirmationQuery, ConfirmationSummary } from '../../ledger/confirmation-query.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { PageCursor } from '../../ledger/page-cursor.ts';
import { clampPageLimit, parseCursor, toCursor } from '../../ledger/page-cursor.ts';
import type { OpenCall, OpenCallQuery, Queries } from '../../ledger/queries.ts';
import { closedError } from '../../ledger/refuse-entry.ts';
import type { FilterDialect, SqlCondition, SqlFilters } from '../../ledger/call-filters.ts';
import { toCallFilters } from '../../ledger/call-filters.ts';
import type { PgValue } from './pg-driver.ts';
import { Filler } from './filler.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';
import { isBehindSql, projectStep } from './projection.ts';
import { countReadCalls, countReadDenials } from './count-read-calls.ts';
import { searchWords } from './word-search.ts';
import type { CallRow, ConfirmationRow, SessionRow } from './call-row.ts';
import { rowToCallSummary, toConfirmationSummary, toPgSessionSummary } from './call-row.ts';

type Condition = SqlCondition<PgValue>;
type List = { readonly table: string; readonly at: string; readonly id: string };

/** After the last append of this process, the tables are filled even if no one asks. */
const fillAfterMs = 1_000;
/** While appends queue up, this many times later. Filling takes CPU time from the calls, on the server too. */
const mostDelays = 2;
/** How long a role that only reads waits for writers. After that, lists may lack the newest calls. */
const patienceMs = 2_000;
const pauseMs = 100;
/** Rows to look at in one statement where no index finds those that are asked for. */
const sliceRows = 5_000;

export class PostgresQueries implements Queries {
  readonly #pool: PgPool;
  readonly #filler: Filler;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isBusy = false;
  #delays = 0;
  #closed = false;

  constructor(pool: PgPool) {
    this.#pool = pool;
    this.#filler = new Filler(pool.settings);
  }

  /** Something was appended: fills the tables soon, so that the first list need not wait for long. */
  noteAppend(isBusy: boolean): void {
    this.#isBusy = isBusy;
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isBusy && this.#delays++ < mostDelays) return this.noteAppend(true);
      this.#delays = 0;
      this.fill().catch(() => undefined); // the next question meets the same failure and reports it
    }, fillAfterMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#filler.close();
    await Promise.allSettled([this.#running, this.#next]);
  }

  /** Resolves when the tables say all that was committed before this was called. */
  async fill(): Promise<void> {
    if (this.#closed) throw closedError();
    if (this.#running === undefined) {
      this.#running = this.#fillNow().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    // The run under way may have read too early: the one after it reads everything.
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.fill();
      });
    return this.#next;
  }

  async #fillNow(): Promise<void> {
    const [row] = await this.#pool.read<{ behind: boolean }>(isBehindSql);
    if (row?.behind !== true) return;
    try {
      await this.#project();
    } catch (error) {
      if (!mayNotWrite(error)) throw error;
      await this.#awaitWriters();
    }
  }

  /** What one step does not do is much: a thread does the rest, and all later work. */
  async #project(): Promise<void> {
    if (!this.#filler.isStarted && !(await this.#step())) return;
    if (await this.#filler.fill()) return;
    while (await this.#step());
  }

  async #step(): Promise<boolean> {
    if (this.#closed) throw closedError();
    return projectStep(this.#pool);
  }

  /** A role that only reads cannot fill the tables. Processes that append fill them within a second, or three under load. */
  async #awaitWriters(): Promise<void> {
    for (let waitedMs = 0; waitedMs < patienceMs && !this.#closed; waitedMs += pauseMs) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      const [row] = await this.#pool.query<{ behind: boolean }>(isBehindSql);
      if (row?.behind !== true) return;
    }
  }

  async findOpenCalls({ after, limit }: OpenCallQuery = {}): Promise<readonly OpenCall[]> {
    if (after === undefined) await this.fill();
    const [at, position] = after === undefined ? [-1, -1] : parseCursor(after);
    const rows = await this.#pool.read<CallRow>(
      `SELECT * FROM @read_calls WHERE status <> 'settled' AND (requested_at, position) > ($1::bigint, $2::bigint)
       ORDER BY requested_at, position LIMIT $3`,
      [at, position, limit ?? null],
    );
    return rows.map((row) => ({
      sessionId: fromPgText(row.session_id),
      callId: fromPgText(row.call_id),
      ownerId: fromPgText(row.owner_id),
      cursor: toCursor([row.requested_at, row.position]),
      status: row.status,
      mode: row.mode,
    }));
  }

  async findCalls(query: CallQuery): Promise<Page<CallSummary>> {
    if (query.text !== undefined || query.idStart !== undefined) {
      const terms = toIndexTerms(query);
      if (terms === undefined) return { rows: [], next: undefined };
      await this.fill();
      return searchWords(this.#pool, terms, query);
    }
    const list = { table: 'read_calls', at: 'requested_at', id: 'position' };
    const { rows, next } = await this.#search<CallRow>(list, toCallFilters(query, dialect), query);
    return { rows: rows.map(rowToCallSummary), next };
  }

  async tallyCalls<Name extends TallyName>(query: TallyQuery<Name>): Promise<readonly CallTally<Name>[]> {
    await this.fill();
    const { by, since, until, toolName, hourStep = 1 } = query;
    const conditions: Condition[] = [];
    if (since !== undefined) conditions.push(['hour >= ?', hourOf(since)]);
    if (until !== undefined) conditions.push(['hour < ?', Math.ceil(until / hourMs)]);
    if (toolName !== undefined) conditions.push(['tool_name = ?', toPgText(toolName)]);
    const names = by.map((name) => tallyColumns[name]);
    // Grouped by number: the name of a column would mean the stored hour.
    const groups = names.map((_, index) => index + 1).join(', ');
    const chosen = names.map((name) =>
      name === 'hour' && hourStep !== 1 ? `hour / ${hourStep} * ${hourStep} AS hour` : name,
    );
    const rows = await this.#pool.read<{ readonly [column: string]: string | number }>(
      `SELECT ${[...chosen, ''].join(', ')} sum(calls)::bigint AS calls, sum(unresolved)::bigint AS unresolved,
         sum(cost_micros)::bigint AS cost_micros
       FROM @read_tallies${toWhere(conditions)}
       ${names.length === 0 ? '' : `GROUP BY ${groups}`} HAVING sum(calls) > 0`,
      valuesOf(conditions),
    );
    return rows.map((row) => ({
      // The columns have the values that were asked for, under these names.
      ...(Object.fromEntries(
        by.map((name) => {
          const value = row[tallyColumns[name]] ?? '';
          return [name, typeof value === 'string' ? fromPgText(value) : value];
        }),
      ) as Pick<CallTally, Name>),
      calls: Number(row['calls']),
      unresolved: Number(row['unresolved']),
      costMicros: Number(row['cost_micros']),
    }));
  }

  async countCalls(query: CallCountQuery): Promise<readonly CallCount[]> {
    await this.fill();
    return countReadCalls(this.#pool, query);
  }

  async countDenials(span: Pick<CallQuery, 'since' | 'until'>): Promise<readonly RuleDenials[]> {
    await this.fill();
    return countReadDenials(this.#pool, span);
  }

  async findSessions(query: SessionQuery): Promise<Page<SessionSummary>> {
    const indexed: Condition[] = [
      query.sessionId === undefined
        ? ['session_id <> ?', ledgerSessionId]
        : ['session_id = ?', toPgText(query.sessionId)],
    ];
    if (query.until !== undefined) indexed.push(['first_at < ?', query.until]);
    const rest: Condition[] = [];
    if (query.since !== undefined) rest.push(['last_at >= ?', query.since]);
    if (query.text !== undefined) rest.push([contains('session_id'), toPgText(query.text)]);
    const list = { table: 'read_sessions', at: 'first_at', id: 'number' };
    const { rows, next } = await this.#search<SessionRow>(list, { anyOf: [indexed], rest }, query);
    return { rows: rows.map(toPgSessionSummary), next };
  }

  async findConfirmations(query: ConfirmationQuery): Promise<Page<ConfirmationSummary>> {
    const rest: Condition[] = [];
    if (query.sessionId !== undefined) rest.push(['session_id = ?', toPgText(query.sessionId)]);
    if (query.toolName !== undefined) rest.push(['tool_name = ?', toPgText(query.toolName)]);
    const list = { table: 'read_confirmations', at: 'asked_at', id: 'position' };
    const indexed: Condition[] = query.status === undefined ? [] : [['status = ?', query.status]];
    const { rows, next } = await this.#search<ConfirmationRow>(list, { anyOf: [indexed], rest }, query);
    return { rows: rows.map(toConfirmationSummary), next };
  }

  async findConfirmation(confirmationId: string): Promise<ConfirmationSummary | undefined> {
    await this.fill();
    const [row] = await this.#pool.read<ConfirmationRow>(
      'SELECT * FROM @read_confirmations WHERE confirmation_id = $1',
      [toPgText(confirmationId)],
    );
    return row && toConfirmationSummary(row);
  }

  /**
   * Newest first from the cursor on. An index gives the rows; `rest` is checked row by row, in slices, so that a search
   * for something rare ends when `scan` says.
   */
  async #search<Row>(
    { table, at, id }: List,
    { anyOf, rest }: SqlFilters<PgValue>,
    query: Pick<CallQuery, 'limit' | 'cursor' | 'scan'>,
  ): Promise<Page<Row>> {
    const limit = clampPageLimit(query.limit);
    let place = query.cursor === undefined ? undefined : parseCursor(query.cursor);
    await this.fill();
    // One row more than fits on the page says whether there is another page.
    const slice = Math.max(Math.min(query.scan ?? sliceRows, sliceRows), limit + 1);
    const order = `ORDER BY ${at} DESC, ${id} DESC`;
    const found: Row[] = [];
    for (let scanned = 0; ;) {
      const from: Condition[] =
        place === undefined ? [] : [[`(${at}, ${id}) < (?::bigint, ?::bigint)`, ...place]];
      const groups = anyOf.map((indexed) => [...indexed, ...from]);
      const values = groups.flatMap(valuesOf);
      let given = 0;
      // Each is in order and read no further, which one select for all groups would not be.
      const selects = groups.map((group) => {
        const sql = `(SELECT * FROM @${table}${toWhere(group, given)} ${order} LIMIT ${slice})`;
        given += valuesOf(group).length;
        return sql;
      });
      const inside = `SELECT * FROM (${selects.join(' UNION ALL ')}) each ${order} LIMIT ${slice}`;
      const some = await this.#pool.read<Row>(
        `SELECT * FROM (${inside}) page${toWhere(rest, given)} ${order} LIMIT ${limit + 1 - found.length}`,
        [...values, ...valuesOf(rest)],
      );
      found.push(...some);
      if (found.length > limit) break;
      if (rest.length === 0) return { rows: found, next: undefined };
      const [end] = await this.#pool.read<Row>(`SELECT * FROM (${inside}) page OFFSET ${slice - 1}`, values);
      if (end === undefined) return { rows: found, next: undefined };
      place = placeOf(end, at, id);
      scanned += slice;
      if (query.scan !== undefined && scanned >= query.scan) return { rows: found, next: toCursor(place) };
    }
    const rows = found.slice(0, limit);
    return { rows, next: toCursor(placeOf(rows.at(-1) as Row, at, id)) }; // a full page has a last row
  }
}

/** The role lacks the right, or the server is a standby. */
const mayNotWrite = (error: unknown): boolean =>
  isQuittanceError(error, 'ledger.unavailable') && ['42501', '25006'].includes(error.facts.sqlState ?? '');

const tallyColumns: { readonly [Name in TallyName]: string } = {
  hour: 'hour',
  toolName: 'tool_name',
  bin: 'bin',
  code: 'code',
  outcome: 'outcome',
  mode: 'mode',
  status: 'status',
};

/** How this store writes the conditions that differ. */
const dialect: FilterDialect = {
  toText: toPgText,
  ofSession: 'session_id = ?',
  isUnresolved: 'unresolved',
  isResolved: 'NOT unresolved',
};

/** Only the letters A to Z are compared without regard to their case. */
const contains = (column: string): string =>
  `strpos(lower(coalesce(${column}, '') COLLATE "C"), lower(?::text COLLATE "C")) > 0`;

function toWhere(conditions: readonly Condition[], given = 0): string {
  if (conditions.length === 0) return '';
  let parameter = given;
  return ` WHERE ${conditions.map(([sql]) => sql.replaceAll('?', () => `$${++parameter}`)).join(' AND ')}`;
}

const valuesOf = (conditions: readonly Condition[]): PgValue[] =>
  conditions.flatMap(([, ...values]) => values);

const placeOf = (row: unknown, at: string, id: string): PageCursor => {
  const { [at]: time, [id]: number } = row as { readonly [column: string]: number };
  return [time as number, number as number]; // columns that are never null
};
