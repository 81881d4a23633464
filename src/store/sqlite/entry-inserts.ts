/**
 * Inserts entries, several with one statement: that costs two thirds of inserting each by itself. Rows wait here until
 * there are enough, so call `flush` before anything reads entries in the same transaction, and before its commit.
 */
import type { Database, SqlValue, Statement } from './database.ts';
import { prepareRow } from './database.ts';

const columns = 10;
/** Measured: more rows per statement gain little. */
const rowsPerStatement = 8;

/** A row of `entries`, in the order of its columns. */
export type NewEntryRow = readonly [
  position: number,
  session: number,
  sequence: number,
  call: string | null,
  version: number | null,
  text: string,
  bodies: string | null,
  salt: string | null,
  hash: string,
  marks: number | null,
];

export class EntryInserts {
  readonly #database: Database;
  /** Prepared by the first insert, because a file of an older version that is only read lacks columns. */
  #many: Statement<never> | undefined;
  #one: Statement<never> | undefined;
  #waiting: SqlValue[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  add(row: NewEntryRow): void {
    this.#waiting.push(...row);
    if (this.#waiting.length < columns * rowsPerStatement) return;
    this.#many ??= this.#prepare(rowsPerStatement);
    const rows = this.#waiting;
    this.#waiting = [];
    this.#many.run(...rows);
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    this.#one ??= this.#prepare(1);
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
    const row = `(${Array.from({ length: columns }, () => '?').join(', ')})`;
    return prepareRow(
      this.#database,
      `INSERT INTO entries VALUES ${Array.from({ length: rows }, () => row).join(', ')}`,
    );
  }
}
