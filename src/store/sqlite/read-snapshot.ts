/**
 * One view of the file for everything that is read without a pause. Each SELECT on its own sees the file as it is at
 * that moment: another process may commit between two of them, and an index and its entries that agree in every commit
 * would seem to disagree. Several SELECTs in one transaction also cost about half as much.
 *
 * A snapshot ends with the current microtasks, so it never meets the transactions of the writer, which begin in a task
 * of their own.
 */
import type { Database, Statement } from './database.ts';
import { prepareRow } from './database.ts';

export class ReadSnapshot {
  readonly #database: Database;
  readonly #begin: Statement<never>;
  readonly #commit: Statement<never>;
  readonly #rollback: Statement<never>;
  #isOpen = false;

  constructor(database: Database) {
    this.#database = database;
    this.#begin = prepareRow(database, 'BEGIN');
    this.#commit = prepareRow(database, 'COMMIT');
    this.#rollback = prepareRow(database, 'ROLLBACK');
  }

  /** Does nothing inside a transaction: that has a view of its own already. */
  begin(): void {
    if (this.#database.inTransaction) return;
    this.#begin.run();
    this.#isOpen = true;
  }

  /**
   * Ends what `begin` began, and no other transaction. Never throws: it runs when nobody waits for it, so an error would
   * end the process. In a damaged file even this can fail; the next read meets the damage itself and names it.
   */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // Closing the file has ended it already.
    if (!this.#isUnderWay()) return;
    try {
      this.#commit.run();
    } catch {
      this.#giveUp();
    }
  }

  #isUnderWay(): boolean {
    return this.#database.open && this.#database.inTransaction;
  }

  #giveUp(): void {
    try {
      if (this.#isUnderWay()) this.#rollback.run();
    } catch {
      // Whoever needs the connection next hears why it cannot be used.
    }
  }
}
