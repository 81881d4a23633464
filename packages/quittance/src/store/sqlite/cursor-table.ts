/** The positions that readers have reached. They change in the transactions of the writer. */
import type { Cursor, CursorChange, CursorMove } from '../../ledger/cursors.ts';
import type { AppendResult } from '../../ledger/journal.ts';
import type { Database } from './database.ts';
import { fromSqlText, toSqlText } from './database.ts';

type Row = {
  readonly name: string;
  readonly position: number;
  readonly holder: string | null;
  readonly owner: string | null;
};

export class CursorTable {
  readonly #sql: Database;

  constructor(sql: Database) {
    this.#sql = sql;
  }

  find(name: string): Cursor | undefined {
    const row = this.#sql
      .row<Row>('SELECT name, position, holder, owner FROM cursors WHERE name = ?')
      .get(toSqlText(name));
    return row && toCursor(row);
  }

  /** Call inside a transaction. False if the cursor is not as expected. */
  set({ name, expected, next }: CursorChange, ownerId: string): boolean {
    const found = this.find(name);
    if (found?.holder !== expected?.holder || found?.position !== expected?.position) return false;
    if (next === undefined) this.#sql.run('DELETE FROM cursors WHERE name = ?', toSqlText(name));
    else
      this.#sql.run(
        'INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?)',
        toSqlText(name),
        next.position,
        next.holder === undefined ? null : toSqlText(next.holder),
        next.holder === undefined ? null : toSqlText(ownerId),
      );
    return true;
  }

  /** Is the cursor as this change leaves it? False if that is how it was before. */
  isChanged({ name, expected, next }: CursorChange): boolean {
    const found = this.find(name);
    const isChange = expected?.holder !== next?.holder || expected?.position !== next?.position;
    return isChange && found?.holder === next?.holder && found?.position === next?.position;
  }

  /** Call inside a transaction. Moves the cursor, or returns the reason why it cannot. */
  move({ name, holder, from, to }: CursorMove): AppendResult | undefined {
    const sql = 'UPDATE cursors SET position = ? WHERE name = ? AND holder = ? AND position = ?';
    if (this.#sql.run(sql, to, toSqlText(name), toSqlText(holder), from) > 0) return undefined;
    const found = this.find(name);
    return { status: 'displaced', holder: found?.holder, position: found?.position ?? 0 };
  }
}

const toCursor = ({ name, position, holder, owner }: Row): Cursor => ({
  name: fromSqlText(name),
  position,
  holder: holder === null ? undefined : fromSqlText(holder),
  ownerId: owner === null ? undefined : fromSqlText(owner),
});
