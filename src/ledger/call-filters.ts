/**
 * The filters of a list of calls as conditions of SQL, for both SQL stores. Each store says how it writes the few
 * conditions that differ.
 */
import type { CallQuery } from './call-query.ts';
import { outcomesOf } from './call-query.ts';

/** A condition with its values; `?` stands for each of them. */
export type SqlCondition<Value> = readonly [sql: string, ...values: Value[]];

/** A row meets the conditions of one group, each of which an index finds in order, and all of `rest`. */
export type SqlFilters<Value> = {
  readonly anyOf: readonly (readonly SqlCondition<Value>[])[];
  readonly rest: readonly SqlCondition<Value>[];
};

type FilterCondition = SqlCondition<string | number>;

export type FilterDialect = {
  /** A text as the store keeps it. */
  readonly toText: (text: string) => string;
  /** The session with a given id. */
  readonly ofSession: string;
  readonly isUnresolved: string;
  readonly isResolved: string;
};

/**
 * Only one filter is left to its index: the one that usually leaves the fewest calls. With two of them, the database may
 * check one filter on all rows that the index of the other one gives, without a slice.
 *
 * Conditions are written exactly as in the partial indexes, or SQLite would not use these.
 */
export function toCallFilters(query: CallQuery, dialect: FilterDialect): SqlFilters<string | number> {
  const span: FilterCondition[] = [];
  if (query.since !== undefined) span.push(['requested_at >= ?', query.since]);
  if (query.until !== undefined) span.push(['requested_at < ?', query.until]);
  const outcomes = outcomesOf(query);
  const tool: readonly FilterCondition[] =
    query.toolName === undefined ? [] : [['tool_name = ?', dialect.toText(query.toolName)]];
  const [best, ...others] = indexedOf(query, dialect);
  const rest = [...others, ...restOf(query, dialect)];
  // Most calls succeed: a list of them is read by time.
  if (best !== undefined || outcomes === undefined || outcomes.includes('ToolExecutionResult')) {
    const [by, ...more] = best === undefined ? tool : [best, ...tool];
    if (outcomes !== undefined) more.push([isOneOf('outcome', outcomes), ...outcomes]);
    return { anyOf: [[...(by === undefined ? [] : [by]), ...span]], rest: [...rest, ...more] };
  }
  const groups = outcomes.map((outcome): readonly FilterCondition[] => [
    [`outcome <> 'ToolExecutionResult' AND outcome = ?`, outcome],
    ...span,
  ]);
  return { anyOf: groups.length === 0 ? [[['1 = 0']]] : groups, rest: [...rest, ...tool] };
}

/** Filters with an index, usually rare values first. */
function indexedOf(query: CallQuery, { toText, ofSession, isUnresolved }: FilterDialect): FilterCondition[] {
  const found: FilterCondition[] = [];
  if (query.unresolved === true) found.push([isUnresolved]);
  if (query.status !== undefined && query.status !== 'settled') found.push([`status <> 'settled'`]);
  if (query.sessionId !== undefined) found.push([ofSession, toText(query.sessionId)]);
  if (query.ruleId !== undefined) found.push(['rule_id = ?', toText(query.ruleId)]);
  if (query.code !== undefined) found.push(['code = ?', toText(query.code)]);
  if (query.userId !== undefined) found.push(['user_id = ?', toText(query.userId)]);
  return found;
}

function restOf(query: CallQuery, { isResolved }: FilterDialect): readonly FilterCondition[] {
  const found: FilterCondition[] = [];
  if (query.status !== undefined) found.push(['status = ?', query.status]);
  if (query.unresolved === false) found.push([isResolved]);
  if (query.mode !== undefined) found.push(['mode = ?', query.mode]);
  return found;
}

/** SQL that is true if a column has one of the values, which are given as parameters. */
const isOneOf = (column: string, values: readonly unknown[]): string =>
  values.length === 0 ? '1 = 0' : `${column} IN (${values.map(() => '?').join(', ')})`;
