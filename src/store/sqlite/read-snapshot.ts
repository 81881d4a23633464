/**
 * One view of the file for everything that is read without a pause. Each SELECT by itself sees the file as it is at
 * that moment. Another process may commit between two of them, and then an index and its entries would seem to
 * disagree although they agree in every commit. Several SELECTs in one transaction also cost about half as much.
 *
 * A snapshot ends with the current microtasks, so it never overlaps the transactions of the writer, which begin in
 * their own task.
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

  /** Does nothing inside a transaction, which already has its own view. */
  begin(): void {
    if (this.#database.inTransaction) return;
    this.#begin.run();
    this.#isOpen = true;
  }

  /**
   * Ends the transaction of `begin`, and no other. Never throws: it runs without a caller, so an error would end the
   * process. In a damaged file even this can fail; the next read meets the damage itself and reports it.
   */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // Closing the file has already ended it.
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
      // The next user of the connection sees why it cannot be used.
    }
  }
}
