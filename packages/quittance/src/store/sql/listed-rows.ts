/**
 * Lists, counts and searches, from the rows that each append writes in its commit. Both SQL stores answer them here; a
 * `ListDialect` says what differs.
 *
 * 1. An index gives the rows of a list in order. Conditions without an index are checked row by row, a slice at a time.
 *    Other work runs between two slices, and a search for a rare value ends when `scan` says.
 * 2. A search by words goes from the newest call to the oldest. The index of the store finds words and the marks of
 *    filters, and the rest is checked here.
 */
import type { JsonObject } from '../../base/json.ts';
import type { CallCount, CallTally, TallyName, TallyQuery } from '../../ledger/call-tally.ts';
import type {
  CallQuery,
  CallSummary,
  Page,
  SessionSummary,
  PageCursor,
  ConfirmationSummary,
} from '../../ledger/call-query.ts';
import { outcomesOf, clampPageLimit, parseCursor, toCursor } from '../../ledger/call-query.ts';
import type { SearchTerm } from '../../ledger/call-search.ts';
import { settleTerms, toFilterTerms, toIndexTerms, callMatcher } from '../../ledger/call-search.ts';
import { hourMs, hourOf, tallyColumns } from '../../ledger/call-tally.ts';
import type { ListedRows } from '../../ledger/ledger.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { SqlCondition, SqlDriver, SqlNames } from './driver.ts';
import { toWhere, toValues } from './driver.ts';

/** A table that is listed newest first: by a time and, within a millisecond, by a number. */
export type SqlList = {
  readonly table: string;
  readonly columns: string;
  readonly at: string;
  readonly id: string;
};

export type ListDialect = SqlNames & {
  readonly calls: SqlList;
  readonly confirmations: SqlList;
  readonly sessions: SqlList;
  /** Sessions that are listed, apart from the ledger's own one. */
  readonly isListed: readonly SqlCondition[];
  /** The counts, as the FROM of a statement. */
  readonly tallies: string;
  /** Joins the name of a session as `session_id`, if the rows of lists do not have it. */
  readonly withNames: string;
  readonly ofSession: string;
  readonly notOfSession: string;
  readonly isUnresolved: string;
  readonly isResolved: string;
  /** A condition that the index of the column answers. */
  readonly isNamed: (column: 'tool_name' | 'user_id', text: string) => SqlCondition;
  /** Ignores the case of the letters A to Z only. */
  readonly contains: (column: string) => string;
  /** The bin of the duration of a call. */
  readonly bin: string;
  /** Makes the planner use this index. */
  readonly byIndex: (name: 'calls_open' | 'calls_by_rule') => string;
  /** A limit of time as the columns have it. */
  readonly toTime: (at: number) => number;
  /** Rows to look at in one statement, if no index finds those that are asked for. */
  readonly rowsPerSlice: number;
  readonly hasWord: (driver: SqlDriver, word: string) => Promise<boolean>;
  readonly findWords: (driver: SqlDriver, search: WordSearch) => Promise<WordsFound>;
};

/** Calls before a position that have all terms, at most `batch` of them. */
export type WordSearch = Pick<CallQuery, 'since' | 'until'> & {
  readonly terms: readonly SearchTerm[];
  readonly before: number;
  readonly batch: number;
};

export type WordsFound = {
  /** In the order of the search. They may be more than were asked for, and some may not be of the period. */
  readonly rows: readonly CallRow[];
  /** How much work it was, in rows. */
  readonly examined: number;
  /** The place to go on from; undefined at the end. */
  readonly rest: PageCursor | undefined;
};

export type CallRow = {
  readonly session_id: string;
  readonly call_id: string;
  readonly position: number;
  readonly turn_id: string;
  readonly tool_name: string;
  readonly mode: CallSummary['mode'];
  readonly mode_origin: CallSummary['modeOrigin'];
  readonly status: CallSummary['status'];
  readonly outcome: NonNullable<CallSummary['outcome']> | null;
  readonly reason: NonNullable<CallSummary['reason']> | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly input_digest: string | null;
  readonly attempts: number;
  /** SQLite has no booleans. */
  readonly unresolved: boolean | number;
  readonly requested_at: number;
  readonly settled_at: number | null;
  readonly elapsed_ms: number | null;
  readonly cost_micros: number;
  readonly user_id: string | null;
  readonly rule_id: string | null;
  readonly owner_id: string;
  /** JSON. */
  readonly args: string | null;
};

type ConfirmationRow = {
  readonly confirmation_id: string;
  readonly session_id: string;
  readonly call_id: string;
  readonly tool_name: string;
  readonly status: ConfirmationSummary['status'];
  readonly asked_at: number;
  readonly expires_at: number | null;
};

type SessionRow = {
  readonly session_id: string;
  readonly calls: number;
  readonly open_calls: number;
  readonly failures: number;
  readonly denials: number;
  readonly unresolved: number;
  readonly first_at: number;
  readonly last_at: number;
};

/** A row meets the conditions of one group, each of which an index finds in order, and all of `rest`. */
type Filters = {
  readonly anyOf: readonly (readonly SqlCondition[])[];
  readonly rest: readonly SqlCondition[];
};

export function createListedRows(driver: SqlDriver, dialect: ListDialect): ListedRows {
  const { calls, toText, fromText, toTime } = dialect;
  const spanOf = ({ since, until }: Pick<CallQuery, 'since' | 'until'>): readonly [number, number] => [
    toTime(since ?? Number.MIN_SAFE_INTEGER),
    toTime(until ?? Number.MAX_SAFE_INTEGER),
  ];
  return {
    async calls(query) {
      if (query.text !== undefined || query.idStart !== undefined) return searchWords(driver, dialect, query);
      const found = await findPage<CallRow>(driver, dialect, calls, toCallFilters(query, dialect), query);
      return { rows: found.rows.map((row) => toSummary(row, dialect)), next: found.next };
    },
    async open_calls({ after, limit = Number.MAX_SAFE_INTEGER }) {
      const place = after === undefined ? beforeAll : parseCursor(after);
      const rows = await driver.all<CallRow>(
        `SELECT * FROM (SELECT ${calls.columns} FROM ${calls.table}${dialect.byIndex('calls_open')}
           WHERE status <> 'settled' AND (requested_at, position) > (?, ?) ORDER BY requested_at, position LIMIT ?) page
         ${dialect.withNames} ORDER BY requested_at, position`,
        [...place, limit],
      );
      return all(
        rows.map((row) => ({
          sessionId: fromText(row.session_id),
          callId: fromText(row.call_id),
          ownerId: fromText(row.owner_id),
          cursor: toCursor([row.requested_at, row.position]),
          status: row.status,
          mode: row.mode,
        })),
      );
    },
    async confirmations(query) {
      const indexed: SqlCondition[] = query.status === undefined ? [] : [['status = ?', query.status]];
      if (query.confirmationId !== undefined)
        indexed.push(['confirmation_id = ?', toText(query.confirmationId)]);
      const rest: SqlCondition[] = [];
      if (query.sessionId !== undefined) rest.push(['session_id = ?', toText(query.sessionId)]);
      if (query.toolName !== undefined) rest.push(['tool_name = ?', toText(query.toolName)]);
      const filters = { anyOf: [indexed], rest };
      const found = await findPage<ConfirmationRow>(driver, dialect, dialect.confirmations, filters, query);
      return { rows: found.rows.map((row) => toConfirmation(row, dialect)), next: found.next };
    },
    async sessions(query) {
      const indexed: SqlCondition[] = [
        query.sessionId === undefined
          ? [dialect.notOfSession, toText(ledgerSessionId)]
          : [dialect.ofSession, toText(query.sessionId)],
        ...dialect.isListed,
      ];
      if (query.until !== undefined) indexed.push(['first_at < ?', toTime(query.until)]);
      const rest: SqlCondition[] = [];
      if (query.since !== undefined) rest.push(['last_at >= ?', toTime(query.since)]);
      if (query.text !== undefined) rest.push([dialect.contains('session_id'), toText(query.text)]);
      const filters = { anyOf: [indexed], rest };
      const found = await findPage<SessionRow>(driver, dialect, dialect.sessions, filters, query);
      return { rows: found.rows.map((row) => toSession(row, dialect)), next: found.next };
    },
    tallies: async (query) => all(await tally(driver, dialect, query)),
    async counts(query) {
      const [since, until] = spanOf(query);
      const conditions: SqlCondition[] = [['requested_at >= ? AND requested_at < ?', since, until]];
      if (query.toolName !== undefined) conditions.push(dialect.isNamed('tool_name', query.toolName));
      if (query.ruleId !== undefined) conditions.push(['rule_id = ?', toText(query.ruleId)]);
      const rows = await driver.all<CallCount>(
        `SELECT CAST(requested_at - requested_at % ? AS BIGINT) AS at, tool_name AS "toolName", mode, status,
           coalesce(outcome, '') AS outcome, coalesce(code, '') AS code, ${dialect.bin} AS bin, count(*) AS calls,
           CAST(sum(cost_micros) AS BIGINT) AS "costMicros"
         FROM ${calls.table}${toWhere(conditions)} GROUP BY 1, 2, 3, 4, 5, 6, 7`,
        [query.stepMs, ...toValues(conditions)],
      );
      return all(rows.map((row) => ({ ...row, toolName: fromText(row.toolName), code: fromText(row.code) })));
    },
    async denials(span) {
      const rows = await driver.all<{ rule_id: string; calls: number; last_at: number }>(
        `SELECT rule_id, count(*) AS calls, max(requested_at) AS last_at FROM ${calls.table}${dialect.byIndex('calls_by_rule')}
         WHERE rule_id IS NOT NULL AND requested_at >= ? AND requested_at < ? GROUP BY rule_id`,
        spanOf(span),
      );
      return all(
        rows.map(({ rule_id, last_at, ...row }) => ({ ...row, ruleId: fromText(rule_id), lastAt: last_at })),
      );
    },
  };
}

const all = <Row>(rows: readonly Row[]): Page<Row> => ({ rows, next: undefined });

/** Before every possible call. */
const beforeAll: PageCursor = [Number.MIN_SAFE_INTEGER, 0];

/** Newest first, from the cursor on. */
async function findPage<Row>(
  driver: SqlDriver,
  { withNames, rowsPerSlice }: ListDialect,
  { table, columns, at, id }: SqlList,
  { anyOf, rest }: Filters,
  query: Pick<CallQuery, 'limit' | 'cursor' | 'scan'>,
): Promise<Page<Row>> {
  const limit = clampPageLimit(query.limit);
  // One row more than fits shows whether there is a next page.
  const slice = Math.max(Math.min(query.scan ?? rowsPerSlice, rowsPerSlice), limit + 1);
  const order = `ORDER BY ${at} DESC, ${id} DESC`;
  const found: Row[] = [];
  let place = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  for (let scanned = 0; ;) {
    const from: SqlCondition[] = place === undefined ? [] : [[`(${at}, ${id}) < (?, ?)`, ...place]];
    const values = anyOf.flatMap((indexed) => [...toValues([...indexed, ...from]), slice]);
    if (anyOf.length > 1) values.push(slice);
    // Each group is in order and read no further, which one select for all groups would not be.
    const selectSlice = (chosen: string): string => {
      const selects = anyOf.map(
        (indexed) => `SELECT ${chosen} FROM ${table}${toWhere([...indexed, ...from])} ${order} LIMIT ?`,
      );
      const union = selects.map((sql) => `SELECT * FROM (${sql}) each_group`).join(' UNION ALL ');
      return selects.length === 1
        ? selects.join('')
        : `SELECT * FROM (${union}) every_group ${order} LIMIT ?`;
    };
    const some = await driver.all<Row>(
      `SELECT * FROM (${selectSlice(columns)}) page ${withNames}${toWhere(rest)} ${order} LIMIT ?`,
      [...values, ...toValues(rest), limit + 1 - found.length],
    );
    found.push(...some);
    if (found.length > limit) break;
    if (rest.length === 0) return { rows: found, next: undefined };
    const [end] = await driver.all(`SELECT * FROM (${selectSlice(`${at}, ${id}`)}) page LIMIT 1 OFFSET ?`, [
      ...values,
      slice - 1,
    ]);
    if (end === undefined) return { rows: found, next: undefined };
    place = placeOf(end, at, id);
    scanned += slice;
    if (query.scan !== undefined && scanned >= query.scan) return { rows: found, next: toCursor(place) };
    await new Promise(setImmediate);
  }
  const rows = found.slice(0, limit);
  return { rows, next: toCursor(placeOf(rows.at(-1), at, id)) };
}

const placeOf = (row: unknown, at: string, id: string): PageCursor => {
  const { [at]: time, [id]: number } = row as { readonly [column: string]: number };
  return [time as number, number as number]; // columns that are never null
};

async function searchWords(
  driver: SqlDriver,
  dialect: ListDialect,
  query: CallQuery,
): Promise<Page<CallSummary>> {
  const asked = toIndexTerms(query);
  if (asked === undefined) return all<CallSummary>([]);
  const settled = await settleTerms(asked, (word) => dialect.hasWord(driver, word));
  const terms = [...settled, ...toFilterTerms(query)];
  const matches = callMatcher(query);
  const limit = clampPageLimit(query.limit);
  const most = query.scan ?? Number.MAX_SAFE_INTEGER;
  const { since, until } = query;
  const found: CallSummary[] = [];
  let last: PageCursor = beforeAll;
  let before = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : parseCursor(query.cursor)[1];
  let slice = Math.min(limit * 2 + 1, dialect.rowsPerSlice);
  for (let scanned = 0; ; slice = Math.min(slice * 2, dialect.rowsPerSlice)) {
    const batch = Math.max(limit + 1, Math.min(slice, most - scanned));
    const { rows, examined, rest } = await dialect.findWords(driver, { terms, before, batch, since, until });
    for (const row of rows) {
      const call = toSummary(row, dialect);
      if (!matches(call)) continue;
      if (found.length === limit) return { rows: found, next: toCursor(last) };
      found.push(call);
      last = [row.requested_at, row.position];
    }
    if (rest === undefined) return { rows: found, next: undefined };
    before = rest[1];
    scanned += examined;
    if (scanned >= most) return { rows: found, next: toCursor(rest) };
    await new Promise(setImmediate);
  }
}

async function tally(
  driver: SqlDriver,
  { tallies, toText, fromText }: ListDialect,
  { by, since, until, toolName, hourStep = 1 }: TallyQuery,
): Promise<readonly CallTally[]> {
  const conditions: SqlCondition[] = [];
  if (since !== undefined) conditions.push(['hour >= ?', hourOf(since)]);
  if (until !== undefined) conditions.push(['hour < ?', Math.ceil(until / hourMs)]);
  if (toolName !== undefined) conditions.push(['tool_name = ?', toText(toolName)]);
  const chosen = by.map(
    (name) => `${name === 'hour' ? `hour - hour % ${hourStep}` : tallyColumns[name]} AS "${name}", `,
  );
  // Grouped by number: the name of a column would mean the stored hour.
  const groups = by.length === 0 ? '' : `GROUP BY ${by.map((_, index) => index + 1).join(', ')}`;
  type TallyRow = { readonly [Name in TallyName]?: string | number } & Omit<CallTally, TallyName>;
  const rows = await driver.all<TallyRow>(
    `SELECT ${chosen.join('')} CAST(sum(calls) AS BIGINT) AS calls, CAST(sum(unresolved) AS BIGINT) AS unresolved,
       CAST(sum(cost_micros) AS BIGINT) AS "costMicros"
     FROM ${tallies}${toWhere(conditions)} ${groups} HAVING sum(calls) > 0`,
    toValues(conditions),
  );
  const toValue = (value: string | number): string | number =>
    typeof value === 'string' ? fromText(value) : value;
  return rows.map(({ calls, unresolved, costMicros, ...row }) => ({
    // The columns have the values of calls, under the names of the query.
    ...(Object.fromEntries(by.map((name) => [name, toValue(row[name] ?? '')])) as Pick<CallTally, TallyName>),
    calls,
    unresolved,
    costMicros,
  }));
}

/**
 * Only one filter is left to its index: the one that usually leaves the fewest calls. With two of them, the database may
 * check one filter on all rows that the index of the other one gives, without a slice.
 *
 * Conditions are written exactly as in the partial indexes, or SQLite would not use these.
 */
function toCallFilters(query: CallQuery, dialect: ListDialect): Filters {
  const span: SqlCondition[] = [];
  if (query.since !== undefined) span.push(['requested_at >= ?', dialect.toTime(query.since)]);
  if (query.until !== undefined) span.push(['requested_at < ?', dialect.toTime(query.until)]);
  const outcomes = outcomesOf(query);
  const tool: readonly SqlCondition[] =
    query.toolName === undefined ? [] : [dialect.isNamed('tool_name', query.toolName)];
  const [best, ...others] = indexedOf(query, dialect);
  const rest = [...others, ...restOf(query, dialect)];
  // Most calls succeed, so a list of them is read by time.
  if (best !== undefined || outcomes === undefined || outcomes.includes('ToolExecutionResult')) {
    const [by, ...more] = best === undefined ? tool : [best, ...tool];
    if (outcomes !== undefined) more.push([isOneOf('outcome', outcomes), ...outcomes]);
    return { anyOf: [[...(by === undefined ? [] : [by]), ...span]], rest: [...rest, ...more] };
  }
  const groups = outcomes.map((outcome): readonly SqlCondition[] => [
    [`outcome <> 'ToolExecutionResult' AND outcome = ?`, outcome],
    ...span,
  ]);
  return { anyOf: groups.length === 0 ? [[['1 = 0']]] : groups, rest: [...rest, ...tool] };
}

/** Filters with an index, usually rare values first. */
function indexedOf(query: CallQuery, { toText, ofSession, isUnresolved, isNamed }: ListDialect) {
  const found: SqlCondition[] = [];
  if (query.unresolved === true) found.push([isUnresolved]);
  if (query.status !== undefined && query.status !== 'settled') found.push([`status <> 'settled'`]);
  if (query.sessionId !== undefined) found.push([ofSession, toText(query.sessionId)]);
  if (query.ruleId !== undefined) found.push(['rule_id = ?', toText(query.ruleId)]);
  if (query.code !== undefined) found.push(['code = ?', toText(query.code)]);
  if (query.userId !== undefined) found.push(isNamed('user_id', query.userId));
  return found;
}

function restOf(query: CallQuery, { isResolved }: ListDialect): readonly SqlCondition[] {
  const found: SqlCondition[] = [];
  if (query.status !== undefined) found.push(['status = ?', query.status]);
  if (query.unresolved === false) found.push([isResolved]);
  if (query.mode !== undefined) found.push(['mode = ?', query.mode]);
  return found;
}

/** SQL that is true if a column has one of the values, which are given as parameters. */
const isOneOf = (column: string, values: readonly unknown[]): string =>
  values.length === 0 ? '1 = 0' : `${column} IN (${values.map(() => '?').join(', ')})`;

const orUndefined = (text: string | null, { fromText }: SqlNames): string | undefined =>
  text === null ? undefined : fromText(text);

export const toSummary = (row: CallRow, names: SqlNames): CallSummary => ({
  sessionId: names.fromText(row.session_id),
  callId: names.fromText(row.call_id),
  turnId: names.fromText(row.turn_id),
  toolName: names.fromText(row.tool_name),
  mode: row.mode,
  modeOrigin: row.mode_origin,
  status: row.status,
  outcome: row.outcome ?? undefined,
  reason: row.reason ?? undefined,
  code: orUndefined(row.code, names),
  message: row.message ?? undefined,
  inputDigest: orUndefined(row.input_digest, names),
  attempts: row.attempts,
  unresolved: Boolean(row.unresolved),
  requestedAt: row.requested_at,
  settledAt: row.settled_at ?? undefined,
  elapsedMs: row.elapsed_ms ?? undefined,
  costMicros: row.cost_micros,
  userId: orUndefined(row.user_id, names),
  ruleId: orUndefined(row.rule_id, names),
  args: row.args === null ? undefined : (JSON.parse(row.args) as JsonObject), // written with the row
});

const toConfirmation = (row: ConfirmationRow, { fromText }: SqlNames): ConfirmationSummary => ({
  confirmationId: fromText(row.confirmation_id),
  sessionId: fromText(row.session_id),
  callId: fromText(row.call_id),
  toolName: fromText(row.tool_name),
  askedAt: row.asked_at,
  expiresAt: row.expires_at ?? undefined,
  status: row.status,
});

const toSession = (row: SessionRow, { fromText }: SqlNames): SessionSummary => ({
  sessionId: fromText(row.session_id),
  calls: row.calls,
  openCalls: row.open_calls,
  failures: row.failures,
  denials: row.denials,
  unresolved: row.unresolved,
  firstAt: row.first_at,
  lastAt: row.last_at,
});
