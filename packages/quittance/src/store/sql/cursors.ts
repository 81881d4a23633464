/** The positions that readers of a ledger have reached. */
import type { Cursor, CursorChange } from '../../ledger/cursors.ts';
import type { SqlDriver, SqlNames } from './driver.ts';

export type CursorDialect = SqlNames & {
  readonly cursors: string;
  /** The column with the owner of a holder. */
  readonly owner: string;
};

type CursorRow = {
  readonly name: string;
  readonly position: number;
  readonly holder: string | null;
  readonly owner: string | null;
};

/** Cursors by name: all, or the one of this name. */
export async function selectCursors(
  driver: SqlDriver,
  { cursors, owner, toText, fromText }: CursorDialect,
  name?: string,
): Promise<readonly Cursor[]> {
  const rows = await driver.all<CursorRow>(
    `SELECT name, position, holder, ${owner} AS owner FROM ${cursors}${name === undefined ? '' : ' WHERE name = ?'}`,
    name === undefined ? [] : [toText(name)],
  );
  return rows
    .map((row) => ({
      name: fromText(row.name),
      position: row.position,
      holder: row.holder === null ? undefined : fromText(row.holder),
      ownerId: row.owner === null ? undefined : fromText(row.owner),
    }))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}

/** Compare-and-set in one statement. False if the cursor is not as expected. */
export async function changeCursor(
  driver: SqlDriver,
  { cursors, owner, toText }: CursorDialect,
  ownerId: string,
  { name, expected, next }: CursorChange,
): Promise<boolean> {
  const holderOf = (holder: string | undefined): string | null =>
    holder === undefined ? null : toText(holder);
  const then =
    next === undefined
      ? []
      : [next.position, holderOf(next.holder), next.holder === undefined ? null : toText(ownerId)];
  if (expected === undefined) {
    if (next === undefined) return true;
    const added = await driver.all(
      `INSERT INTO ${cursors} (name, position, holder, ${owner}) VALUES (?, ?, ?, ?)
       ON CONFLICT (name) DO NOTHING RETURNING name`,
      [toText(name), ...then],
    );
    return added.length > 0;
  }
  const changed = await driver.all(
    `${next === undefined ? `DELETE FROM ${cursors}` : `UPDATE ${cursors} SET position = ?, holder = ?, ${owner} = ?`}
     WHERE name = ? AND position = ? AND holder IS NOT DISTINCT FROM ? RETURNING name`,
    [...then, toText(name), expected.position, holderOf(expected.holder)],
  );
  return changed.length > 0;
}
