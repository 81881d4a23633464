/** Loaded into the writer thread with `--import`. It kills the process at a point inside the transaction of a claim. */
import type { StatementSync } from 'node:sqlite';
import { DatabaseSync } from 'node:sqlite';
import type { StorePoint } from './points.ts';

export type Mine = { readonly point: StorePoint; readonly nth: number };

/** Tells the thread its mine, as JSON. */
const text = process.env['QUITTANCE_CRASH_MINE'];
const mine = text === undefined ? undefined : (JSON.parse(text) as Mine);
const prepare = Reflect.get(DatabaseSync.prototype, 'prepare');
/** Claims of this transaction. */
let claims = 0;
let met = 0;

/** `times`: how many claims meet the point at once. */
function meet(here: StorePoint, times = 1): void {
  if (claims === 0 || here !== mine?.point) return;
  met += times;
  if (met > mine.nth) process.kill(process.pid, 'SIGKILL');
}

DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string): StatementSync {
  const statement = prepare.call(this, sql);
  const run = statement.run.bind(statement) as (...values: unknown[]) => ReturnType<StatementSync['run']>;
  const around = (before: StorePoint, after?: StorePoint): void => {
    statement.run = (...values: unknown[]) => {
      if (sql.startsWith('INSERT INTO entries'))
        claims += values.filter((value) => typeof value === 'string' && value.includes(',"claim":{')).length;
      meet(before, sql === 'COMMIT' ? claims : 1);
      const result = run(...values);
      if (after === undefined) return result;
      meet(after, claims);
      claims = 0;
      return result;
    };
  };
  if (sql.startsWith('INSERT INTO entries')) around('entry: files checked');
  if (sql.startsWith('INSERT OR REPLACE INTO marks')) around('entry: before marks');
  if (sql === 'COMMIT') around('entry: before commit', 'entry: after commit');
  return statement;
};
