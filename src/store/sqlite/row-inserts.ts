/**
 * Inserts rows of one table, several with one statement: that costs two thirds of inserting each by itself. Rows wait
 * here until there are enough, so call `flush` before anything reads them in the same transaction, and before its commit.
 */
import type { Database, SqlValue, Statement } from './database.ts';
import { prepareRow } from './database.ts';

/** Measured: more rows per statement gain little. */
const rowsPerStatement = 8;

export class RowInserts<Row extends readonly SqlValue[]> {
  readonly #database: Database;
  readonly #table: string;
  readonly #columns: Row['length'];
  /** Prepared by the first insert, because a file of an older version that is only read lacks columns. */
  #many: Statement<never> | undefined;
  #one: Statement<never> | undefined;
  #waiting: SqlValue[] = [];

  constructor(database: Database, table: string, columns: Row['length']) {
    this.#database = database;
    this.#table = table;
    this.#columns = columns;
  }

  add(row: Row): void {
    this.#waiting.push(...row);
    if (this.#waiting.length < this.#columns * rowsPerStatement) return;
    this.#many ??= this.#prepare(rowsPerStatement);
    const rows = this.#waiting;
    this.#waiting = [];
    this.#many.run(...rows);
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    this.#one ??= this.#prepare(1);
    const columns = this.#columns;
    const rows = this.#waiting;
    this.#waiting = [];
    if (rows.length === columns) this.#one.run(...rows);
    else for (let at = 0; at < rows.length; at += columns) this.#one.run(...rows.slice(at, at + columns));
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#waiting = [];
  }

  #prepare(rows: number): Statement<never> {
    const row = `(${Array.from({ length: this.#columns }, () => '?').join(', ')})`;
    return prepareRow(
      this.#database,
      `INSERT INTO ${this.#table} VALUES ${Array.from({ length: rows }, () => row).join(', ')}`,
    );
  }
}
