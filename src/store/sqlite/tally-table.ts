/**
 * Calls counted by what they are: rows that triggers keep in step with the table of calls, so that whatever writes,
 * changes or drops a call cannot forget them. Each call is counted twice: in its hour, and in the hour `ever`, which
 * answers for all of them.
 */
import type { CallTally, TallyName, TallyQuery } from '../../ledger/call-tally.ts';
import { hourMs, hourOf, latencyBinSql } from '../../ledger/call-tally.ts';
import type { Database, SqlValue, Statement } from './database.ts';
import { prepareRow } from './database.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';

const ever = -1;

const columns: { readonly [Name in TallyName]: string } = {
  hour: 'hour',
  toolName: 'tool_name',
  mode: 'mode',
  status: 'status',
  outcome: 'outcome',
  code: 'code',
  bin: 'bin',
};

const keys = Object.values(columns).join(', ');

export const tallyTable: string = `
  CREATE TABLE tallies (
    hour INTEGER NOT NULL, tool_name TEXT NOT NULL, mode TEXT NOT NULL, status TEXT NOT NULL,
    outcome TEXT NOT NULL, code TEXT NOT NULL, bin INTEGER NOT NULL,
    calls INTEGER NOT NULL, unresolved INTEGER NOT NULL, cost_micros INTEGER NOT NULL,
    PRIMARY KEY (${keys})
  ) WITHOUT ROWID;
`;

const count = (row: 'new' | 'old', by: 1 | -1, hour: string): string =>
  `INSERT INTO tallies VALUES (${hour}, ${row}.tool_name, ${row}.mode, ${row}.status,
     coalesce(${row}.outcome, ''), coalesce(${row}.code, ''), ${latencyBinSql(`${row}.elapsed_ms`, `${row}.attempts`)},
     ${by}, ${by} * ${row}.unresolved, ${by} * ${row}.cost_micros)
   ON CONFLICT (${keys}) DO UPDATE SET calls = calls + excluded.calls,
     unresolved = unresolved + excluded.unresolved, cost_micros = cost_micros + excluded.cost_micros;`;

const countBoth = (row: 'new' | 'old', by: 1 | -1): string =>
  count(row, by, `${row}.requested_at / ${hourMs}`) + count(row, by, String(ever));

/** Dropped while all calls are: one by one they would be counted out. */
export const tallyTriggers: { readonly create: string; readonly drop: string } = {
  create: `
    CREATE TRIGGER tally_insert AFTER INSERT ON calls BEGIN ${countBoth('new', 1)} END;
    CREATE TRIGGER tally_update AFTER UPDATE ON calls BEGIN ${countBoth('old', -1)} ${countBoth('new', 1)} END;
    CREATE TRIGGER tally_delete AFTER DELETE ON calls BEGIN ${countBoth('old', -1)} END;`,
  drop: ['insert', 'update', 'delete'].map((name) => `DROP TRIGGER IF EXISTS tally_${name};`).join(' '),
};

type TallyRow = { readonly [column: string]: string | number };

export class TallyTable {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement<TallyRow>>();

  constructor(database: Database) {
    this.#database = database;
  }

  query<Name extends TallyName>({
    by,
    since,
    until,
    toolName,
  }: TallyQuery<Name>): readonly CallTally<Name>[] {
    const all = since === undefined && until === undefined && !(by as readonly TallyName[]).includes('hour');
    const conditions: [string, SqlValue][] = [['hour >= ?', since === undefined ? 0 : hourOf(since)]];
    if (until !== undefined) conditions.push(['hour < ?', Math.ceil(until / hourMs)]);
    if (all) conditions.splice(0, 1, ['hour = ?', ever]);
    if (toolName !== undefined) conditions.push(['tool_name = ?', toSqlText(toolName)]);
    const names = by.map((name) => columns[name]);
    const rows = this.#prepare(
      `SELECT ${[...names, ''].join(', ')} sum(calls) AS calls, sum(unresolved) AS unresolved,
         sum(cost_micros) AS cost_micros
       FROM tallies WHERE ${conditions.map(([sql]) => sql).join(' AND ')}
       ${names.length === 0 ? '' : `GROUP BY ${names.join(', ')}`} HAVING sum(calls) > 0`,
    ).all(...conditions.map(([, value]) => value));
    return rows.map((row) => toTally(row, by));
  }

  #prepare(sql: string): Statement<TallyRow> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = prepareRow<TallyRow>(this.#database, sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

function toTally<Name extends TallyName>(row: TallyRow, by: readonly Name[]): CallTally<Name> {
  const key = by.map((name) => {
    const value = row[columns[name]] ?? '';
    return [name, typeof value === 'string' ? fromSqlText(value) : value];
  });
  return {
    // The columns hold what the table of calls does, under the names asked by.
    ...(Object.fromEntries(key) as Pick<CallTally, Name>),
    calls: Number(row['calls']),
    unresolved: Number(row['unresolved']),
    costMicros: Number(row['cost_micros']),
  };
}
