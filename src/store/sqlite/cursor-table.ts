/** The positions that readers have reached. Written through the append queue, so that many share a flush to disk. */
import type { Cursor, CursorMove, CursorTake } from '../../ledger/cursors.ts';
import type { AppendResult } from '../../ledger/journal.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow } from './database.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';
import { isDone } from './write-order.ts';
import type { Writer } from './writer.ts';

type Row = {
  readonly name: string;
  readonly position: number;
  readonly holder: string | null;
  readonly owner: string | null;
};

export class CursorTable {
  readonly #writer: Writer;
  readonly #ownerId: string;
  readonly #one: Statement<Row>;
  readonly #all: Statement<Row>;
  readonly #put: Statement<never>;
  readonly #move: Statement<never>;
  readonly #release: Statement<never>;
  readonly #drop: Statement<never>;

  constructor(database: Database, writer: Writer, ownerId: string) {
    this.#writer = writer;
    this.#ownerId = ownerId;
    this.#one = prepareRow(database, 'SELECT name, position, holder, owner FROM cursors WHERE name = ?');
    this.#all = prepareRow(database, 'SELECT name, position, holder, owner FROM cursors');
    this.#put = prepareRow(database, 'INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?)');
    this.#move = prepareRow(
      database,
      'UPDATE cursors SET position = ? WHERE name = ? AND holder = ? AND position = ?',
    );
    this.#release = prepareRow(
      database,
      'UPDATE cursors SET holder = NULL, owner = NULL WHERE name = ? AND holder = ?',
    );
    this.#drop = prepareRow(database, 'DELETE FROM cursors WHERE name = ?');
  }

  read(name: string): Cursor | undefined {
    const row = this.#one.get(toSqlText(name));
    return row && toCursor(row);
  }

  list(): readonly Cursor[] {
    return this.#all
      .all()
      .map(toCursor)
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  take({ name, holder, instead, startAfter }: CursorTake): Promise<Cursor> {
    return this.#writer.run(() => {
      const found = this.read(name);
      const isFree = found?.holder === undefined || found.holder === holder || found.holder === instead;
      if (found !== undefined && !isFree) return found;
      const taken = { name, position: found?.position ?? startAfter, holder, ownerId: this.#ownerId };
      this.#put.run(toSqlText(name), taken.position, toSqlText(holder), toSqlText(this.#ownerId));
      return taken;
    });
  }

  move(move: CursorMove): Promise<boolean> {
    return this.#writer.order({ type: 'cursor', move }).then(isDone);
  }

  release(name: string, holder: string): Promise<void> {
    return this.#writer.run(() => {
      this.#release.run(toSqlText(name), toSqlText(holder));
    });
  }

  drop(name: string): Promise<boolean> {
    return this.#writer.run(() => this.#drop.run(toSqlText(name)).changes > 0);
  }

  /** Call inside a transaction. Moves the cursor, or returns the reason why it cannot. */
  apply({ name, holder, from, to }: CursorMove): AppendResult | undefined {
    if (this.#move.run(to, toSqlText(name), toSqlText(holder), from).changes > 0) return undefined;
    const found = this.read(name);
    return { status: 'displaced', holder: found?.holder, position: found?.position ?? 0 };
  }
}

const toCursor = ({ name, position, holder, owner }: Row): Cursor => ({
  name: fromSqlText(name),
  position,
  holder: holder === null ? undefined : fromSqlText(holder),
  ownerId: owner === null ? undefined : fromSqlText(owner),
});
