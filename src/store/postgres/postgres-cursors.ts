import type { Cursor, CursorMove, Cursors, CursorTake } from '../../ledger/cursors.ts';
import type { PgValue } from './pg-driver.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';

type CursorRow = {
  readonly name: string;
  readonly position: number;
  readonly holder: string | null;
  readonly owner_id: string | null;
};

const columns = 'name, position, holder, owner_id';

export class PostgresCursors implements Cursors {
  readonly #pool: PgPool;
  readonly #ownerId: string;
  /** Changes are made in the order in which they were asked for, although there are several connections. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(pool: PgPool, ownerId: string) {
    this.#pool = pool;
    this.#ownerId = ownerId;
  }

  async read(name: string): Promise<Cursor | undefined> {
    const [row] = await this.#pool.read<CursorRow>(`SELECT ${columns} FROM @cursors WHERE name = $1`, [
      toPgText(name),
    ]);
    return row && toCursor(row);
  }

  async list(): Promise<readonly Cursor[]> {
    const rows = await this.#pool.read<CursorRow>(`SELECT ${columns} FROM @cursors ORDER BY name`);
    return rows.map(toCursor).sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  async take({ name, holder, instead, startAfter }: CursorTake): Promise<Cursor> {
    const [row] = await this.#change<CursorRow>(
      `INSERT INTO @cursors AS c (name, position, holder, owner_id) VALUES ($1, $2, $3, $4)
       ON CONFLICT (name) DO UPDATE SET
         holder = CASE WHEN c.holder IS NULL OR c.holder IN ($3, $5) THEN $3 ELSE c.holder END,
         owner_id = CASE WHEN c.holder IS NULL OR c.holder IN ($3, $5) THEN $4 ELSE c.owner_id END
       RETURNING ${columns}`,
      [
        toPgText(name),
        startAfter,
        toPgText(holder),
        toPgText(this.#ownerId),
        instead === undefined ? null : toPgText(instead),
      ],
    );
    return toCursor(row as CursorRow); // an upsert always returns its row
  }

  async move({ name, holder, from, to }: CursorMove): Promise<boolean> {
    const rows = await this.#change(
      'UPDATE @cursors SET position = $4 WHERE name = $1 AND holder = $2 AND position = $3 RETURNING name',
      [toPgText(name), toPgText(holder), from, to],
    );
    return rows.length > 0;
  }

  async release(name: string, holder: string): Promise<void> {
    await this.#change('UPDATE @cursors SET holder = NULL, owner_id = NULL WHERE name = $1 AND holder = $2', [
      toPgText(name),
      toPgText(holder),
    ]);
  }

  async drop(name: string): Promise<boolean> {
    const rows = await this.#change('DELETE FROM @cursors WHERE name = $1 RETURNING name', [toPgText(name)]);
    return rows.length > 0;
  }

  #change<Row>(text: string, values: readonly PgValue[]): Promise<readonly Row[]> {
    const change = this.#last.then(() => this.#pool.query<Row>(text, values));
    this.#last = change.catch(() => undefined);
    return change;
  }
}

const toCursor = ({ name, position, holder, owner_id }: CursorRow): Cursor => ({
  name: fromPgText(name),
  position,
  holder: holder === null ? undefined : fromPgText(holder),
  ownerId: owner_id === null ? undefined : fromPgText(owner_id),
});
