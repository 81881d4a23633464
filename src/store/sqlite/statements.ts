import type { Database, SqlValue, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';

/** The statements of a connection. Each is prepared when it is first used, and kept. */
export class Statements {
  readonly database: Database;
  readonly #rows = new Map<string, Statement<unknown>>();
  readonly #values = new Map<string, Statement<unknown>>();

  constructor(database: Database) {
    this.database = database;
  }

  /** A statement that returns rows. The caller names their type, as SQL does not. */
  row<Row>(sql: string): Statement<Row> {
    let statement = this.#rows.get(sql);
    if (statement === undefined) this.#rows.set(sql, (statement = prepareRow<unknown>(this.database, sql)));
    return statement as Statement<Row>;
  }

  /** A statement that returns rows of one column, as bare values. */
  value<Value>(sql: string): Statement<Value> {
    let statement = this.#values.get(sql);
    if (statement === undefined)
      this.#values.set(sql, (statement = prepareValue<unknown>(this.database, sql)));
    return statement as Statement<Value>;
  }

  /** Changes rows. Returns how many. */
  run(sql: string, ...values: readonly SqlValue[]): number {
    return this.row<never>(sql).run(...values).changes;
  }

  /** Reads in one transaction: all of it is as of one moment. */
  atOneMoment<Result>(read: () => Result): Result {
    if (this.database.inTransaction) return read();
    this.row<never>('BEGIN').run();
    try {
      return read();
    } finally {
      // Nothing was written. In a damaged file SQLite may have ended it by itself.
      if (this.database.inTransaction) this.row<never>('ROLLBACK').run();
    }
  }
}
