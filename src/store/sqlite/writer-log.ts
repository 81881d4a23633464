/**
 * The log, as a connection that writes sees it. If the thread asks for it, the writer copies the rest of the log between
 * two transactions. Others must not write in the meantime: SQLite starts the log anew only if all of it is copied.
 */
import type { Database } from './database.ts';
import type { LogState } from './log-state.ts';

/** Pages in the log at which the commit of a writer copies all of them, as SQLite does by default. */
const pagesAlone = 1_000;
/** The same while a thread copies them: only if it does not keep up. */
const pagesWithThread = 8_000;

export class WriterLog {
  readonly #database: Database;
  readonly #state: LogState;
  #isKept = false;

  constructor(database: Database, state: LogState) {
    this.#database = database;
    this.#state = state;
  }

  /** Call between two transactions. */
  tidy(): void {
    const { isKept } = this.#state;
    if (isKept !== this.#isKept) {
      this.#isKept = isKept;
      this.#database.pragma(`wal_autocheckpoint = ${isKept ? pagesWithThread : pagesAlone}`);
    }
    if (!this.#state.isRestartDue) return;
    this.#state.isRestartDue = false;
    try {
      this.#database.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // As after a commit: nothing is lost, and the next attempt or the next commit copies it.
    }
  }
}
