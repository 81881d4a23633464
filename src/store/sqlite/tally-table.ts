/**
 * Counts of calls by their properties. `TallyCounts` adds new calls, once per step. Triggers follow calls that change
 * or are removed, so no write can forget them. Each call is counted three times, in rows of one table: in its hour, in its day, and in `ever`. So a month is
 * read from thirty days and not from seven hundred hours.
 */
import type { CallTally, TallyName, TallyQuery } from '../../ledger/call-tally.ts';
import { hourMs, hourOf, latencyBin, latencyBinSql } from '../../ledger/call-tally.ts';
import type { CallSummary } from '../../ledger/call-query.ts';
import type { Database, SqlValue, Statement } from './database.ts';
import { prepareRow } from './database.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';

/** Values of the hour column for all time and for a day: numbers that no hour has. */
const ever = -1;
const keyOfDay = (day: number): number => -2 - day;
const hoursPerDay = 24;
const dayMs = hoursPerDay * hourMs;

/** Column order of the rows: the most selective first, because every call looks up three rows. */
const columns: { readonly [Name in TallyName]: string } = {
  hour: 'hour',
  toolName: 'tool_name',
  bin: 'bin',
  code: 'code',
  outcome: 'outcome',
  mode: 'mode',
  status: 'status',
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

const countThrice = (row: 'new' | 'old', by: 1 | -1): string =>
  count(row, by, `${row}.requested_at / ${hourMs}`) +
  count(row, by, `-2 - ${row}.requested_at / ${dayMs}`) +
  count(row, by, String(ever));

/** Dropped while all calls are removed: otherwise each call would be subtracted one by one. */
export const tallyTriggers: { readonly create: string; readonly drop: string } = {
  create: `
    CREATE TRIGGER tally_update AFTER UPDATE ON calls BEGIN ${countThrice('old', -1)} ${countThrice('new', 1)} END;
    CREATE TRIGGER tally_delete AFTER DELETE ON calls BEGIN ${countThrice('old', -1)} END;`,
  drop: 'DROP TRIGGER IF EXISTS tally_update; DROP TRIGGER IF EXISTS tally_delete;',
};

/** A new call, as far as it is counted. */
export type CountedCall = Pick<
  CallSummary,
  'toolName' | 'attempts' | 'elapsedMs' | 'requestedAt' | 'costMicros'
> & {
  readonly mode: string;
  readonly status: string;
  readonly outcome?: string | undefined;
  readonly code?: string | undefined;
  readonly unresolved?: boolean;
};

type Count = { readonly call: CountedCall; calls: number; unresolved: number; costMicros: number };

/**
 * Counts new calls in memory and writes the counts at the end of a step. A trigger would look up three rows for each
 * call, which costs more than the call itself.
 */
export class TallyCounts {
  readonly #put: Statement<never>;
  readonly #counts = new Map<string, Count>();

  constructor(database: Database) {
    this.#put = prepareRow(
      database,
      `INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (${keys}) DO UPDATE SET
         calls = calls + excluded.calls, unresolved = unresolved + excluded.unresolved,
         cost_micros = cost_micros + excluded.cost_micros`,
    );
  }

  add(call: CountedCall): void {
    const { mode, status, outcome = '', code = '', toolName } = call;
    const hour = wholeUnits(call.requestedAt, hourMs);
    const key = `${hour} ${latencyBin(call)} ${mode} ${status} ${outcome} ${code.length} ${code}${toolName}`;
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { call: { ...call }, calls: 0, unresolved: 0, costMicros: 0 };
      this.#counts.set(key, count);
    }
    count.calls++;
    count.costMicros += call.costMicros;
    if (call.unresolved === true) count.unresolved++;
  }

  clear(): void {
    this.#counts.clear();
  }

  /** Call inside the transaction that inserts the calls. */
  write(): void {
    for (const { call, calls, unresolved, costMicros } of this.#counts.values()) {
      const { requestedAt, toolName, mode, status, outcome = '', code } = call;
      const codeText = code === undefined ? '' : toSqlText(code);
      for (const hour of [wholeUnits(requestedAt, hourMs), -2 - wholeUnits(requestedAt, dayMs), ever])
        this.#put.run(
          hour,
          toSqlText(toolName),
          mode,
          status,
          outcome,
          codeText,
          latencyBin(call),
          calls,
          unresolved,
          costMicros,
        );
    }
    this.clear();
  }
}

/** As SQLite divides: a whole number only if the time is one. */
const wholeUnits = (at: number, unitMs: number): number =>
  Number.isInteger(at) ? Math.trunc(at / unitMs) : at / unitMs;

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
    hourStep = 1,
  }: TallyQuery<Name>): readonly CallTally<Name>[] {
    const names = by.map((name) => columns[name]);
    const byHour = (by as readonly TallyName[]).includes('hour');
    const ranges = rangesOf(since, until, byHour, hourStep);
    const ofTool = toolName === undefined ? '' : ' AND tool_name = ?';
    const parts = ranges.map(
      ([from, to]) =>
        `SELECT * FROM tallies WHERE hour ${to - from === 1 ? '= ?' : 'BETWEEN ? AND ?'}${ofTool}`,
    );
    // Grouped by number: the name of a column would mean the stored hour.
    const groups = names.map((_, index) => index + 1).join(', ');
    const chosen = names.map((name) => (name === 'hour' ? `${steppedHour(hourStep)} AS hour` : name));
    const rows = this.#prepare(
      `SELECT ${[...chosen, ''].join(', ')} sum(calls) AS calls, sum(unresolved) AS unresolved,
         sum(cost_micros) AS cost_micros
       FROM (${parts.join(' UNION ALL ')})
       ${names.length === 0 ? '' : `GROUP BY ${groups}`} HAVING sum(calls) > 0`,
    ).all(
      ...ranges.flatMap(([from, to]): SqlValue[] => [
        ...(to - from === 1 ? [from] : [from, to - 1]),
        ...(toolName === undefined ? [] : [toSqlText(toolName)]),
      ]),
    );
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

/** The first hour of a step, of hours and of days. */
const steppedHour = (step: number): string => {
  const hour = `CASE WHEN hour < ${ever} THEN (-2 - hour) * ${hoursPerDay} ELSE hour END`;
  return step === 1 ? hour : `CAST((${hour}) / ${step} AS INTEGER) * ${step}`;
};

type Range = readonly [from: number, to: number];

/** The rows that together count every call of a period once: whole days, and the hours before and after. */
function rangesOf(
  since: number | undefined,
  until: number | undefined,
  byHour: boolean,
  hourStep: number,
): readonly Range[] {
  if (since === undefined && until === undefined && !byHour) return [[ever, ever + 1]];
  const first = since === undefined ? 0 : Math.max(0, hourOf(since));
  const end = until === undefined ? Number.MAX_SAFE_INTEGER : Math.ceil(until / hourMs);
  const firstDay = Math.ceil(first / hoursPerDay);
  const endDay = Math.floor(end / hoursPerDay);
  // A day is not divided if whole days are asked for.
  if ((byHour && hourStep % hoursPerDay !== 0) || endDay <= firstDay) return [[first, end]];
  const ranges: readonly Range[] = [
    [first, firstDay * hoursPerDay],
    // Days count downwards, and the first number of a range belongs to it.
    [keyOfDay(endDay) + 1, keyOfDay(firstDay) + 1],
    [endDay * hoursPerDay, end],
  ];
  return ranges.filter(([from, to]) => from < to);
}

function toTally<Name extends TallyName>(row: TallyRow, by: readonly Name[]): CallTally<Name> {
  const key = by.map((name) => {
    const value = row[columns[name]] ?? '';
    return [name, typeof value === 'string' ? fromSqlText(value) : value];
  });
  return {
    // The columns contain the values of the table of calls, under the names of the query.
    ...(Object.fromEntries(key) as Pick<CallTally, Name>),
    calls: Number(row['calls']),
    unresolved: Number(row['unresolved']),
    costMicros: Number(row['cost_micros']),
  };
}
