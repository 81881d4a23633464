/** Counts of the rows of the table of calls. */
import type { CallCount, CallCountQuery, RuleDenials } from '../../ledger/call-count.ts';
import type { CallQuery } from '../../ledger/call-query.ts';
import { latencyBinSql } from '../../ledger/call-tally.ts';
import type { Database, SqlValue } from './database.ts';
import { prepareRow } from './database.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';

type CountRow = { readonly tool_name: string; readonly code: string } & Omit<CallCount, 'toolName' | 'code'>;

const spanOf = ({ since, until }: Pick<CallQuery, 'since' | 'until'>): readonly [number, number] => [
  since ?? Number.MIN_SAFE_INTEGER,
  until ?? Number.MAX_SAFE_INTEGER,
];

export function countCallRows(database: Database, query: CallCountQuery): readonly CallCount[] {
  const { toolName, ruleId, stepMs } = query;
  const conditions = ['requested_at >= ? AND requested_at < ?'];
  const values: SqlValue[] = [...spanOf(query)];
  for (const [column, value] of [
    ['tool_name', toolName],
    ['rule_id', ruleId],
  ] as const) {
    if (value === undefined) continue;
    conditions.push(`${column} = ?`);
    values.push(toSqlText(value));
  }
  return prepareRow<CountRow>(
    database,
    `SELECT CAST(requested_at / ? AS INTEGER) * ? AS at, tool_name, mode, status, coalesce(outcome, '') AS outcome,
       coalesce(code, '') AS code, ${latencyBinSql('elapsed_ms', 'attempts')} AS bin, count(*) AS calls,
       sum(cost_micros) AS costMicros
     FROM calls WHERE ${conditions.join(' AND ')} GROUP BY 1, 2, 3, 4, 5, 6, 7`,
  )
    .all(stepMs, stepMs, ...values)
    .map(({ tool_name, code, ...row }) => ({
      ...row,
      toolName: fromSqlText(tool_name),
      code: fromSqlText(code),
    }));
}

/** Reads only the index of the calls that a rule denied. */
export const countDeniedRows = (
  database: Database,
  span: Pick<CallQuery, 'since' | 'until'>,
): readonly RuleDenials[] =>
  prepareRow<{ rule_id: string; calls: number; last_at: number }>(
    database,
    `SELECT rule_id, count(*) AS calls, max(requested_at) AS last_at FROM calls INDEXED BY calls_by_rule
     WHERE rule_id IS NOT NULL AND requested_at >= ? AND requested_at < ? GROUP BY rule_id`,
  )
    .all(...spanOf(span))
    .map(({ rule_id, calls, last_at }) => ({ ruleId: fromSqlText(rule_id), calls, lastAt: last_at }));
