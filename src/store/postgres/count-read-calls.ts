/** Counts of the rows of `read_calls`. */
import type { CallCount, CallCountQuery, RuleDenials } from '../../ledger/call-count.ts';
import type { CallQuery } from '../../ledger/call-query.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';

type CountRow = {
  readonly tool_name: string;
  readonly code: string;
  readonly cost_micros: number;
} & Omit<CallCount, 'toolName' | 'code' | 'costMicros'>;

const spanOf = ({ since, until }: Pick<CallQuery, 'since' | 'until'>): readonly [number, number] => [
  Math.ceil(since ?? Number.MIN_SAFE_INTEGER),
  Math.ceil(until ?? Number.MAX_SAFE_INTEGER),
];

export async function countReadCalls(pool: PgPool, query: CallCountQuery): Promise<readonly CallCount[]> {
  const { toolName, ruleId, stepMs } = query;
  const names = [
    ['tool_name', toolName],
    ['rule_id', ruleId],
  ] as const;
  const given = names.flatMap(([column, value]) => (value === undefined ? [] : [[column, value] as const]));
  const rows = await pool.read<CountRow>(
    `SELECT requested_at / $3::bigint * $3::bigint AS at, tool_name, mode, status, coalesce(outcome, '') AS outcome,
       coalesce(code, '') AS code, bin, count(*) AS calls, sum(cost_micros)::bigint AS cost_micros
     FROM @read_calls WHERE requested_at >= $1::bigint AND requested_at < $2::bigint
       ${given.map(([column], index) => `AND ${column} = $${index + 4}`).join(' ')}
     GROUP BY 1, 2, 3, 4, 5, 6, 7`,
    [...spanOf(query), stepMs, ...given.map(([, value]) => toPgText(value))],
  );
  return rows.map(({ tool_name, code, cost_micros, at, bin, calls, ...row }) => ({
    ...row,
    at: Number(at),
    bin: Number(bin),
    toolName: fromPgText(tool_name),
    code: fromPgText(code),
    calls: Number(calls),
    costMicros: Number(cost_micros),
  }));
}

/** Reads only the index of the calls that a rule denied. */
export async function countReadDenials(
  pool: PgPool,
  span: Pick<CallQuery, 'since' | 'until'>,
): Promise<readonly RuleDenials[]> {
  const rows = await pool.read<{ rule_id: string; calls: number; last_at: number }>(
    `SELECT rule_id, count(*) AS calls, max(requested_at) AS last_at FROM @read_calls
     WHERE rule_id IS NOT NULL AND requested_at >= $1::bigint AND requested_at < $2::bigint GROUP BY rule_id`,
    [...spanOf(span)],
  );
  return rows.map(({ rule_id, calls, last_at }) => ({
    ruleId: fromPgText(rule_id),
    calls: Number(calls),
    lastAt: Number(last_at),
  }));
}
