/** The sealed inputs of a ledger, row by row, for a rotation of its keys. Other processes may use the ledger meanwhile. */
import type { Database } from 'quittance/internal/store/sqlite/database';
import { prepareRow, fromSqlText } from 'quittance/internal/store/sqlite/database';
import { whenFree } from 'quittance/internal/store/sqlite/backoff';

export type SealedRow = { readonly sessionId: string; readonly callId: string; readonly text: string };

export interface SealedRows {
  count(): Promise<number>;
  /** Every row, in a fixed order. A row that is removed meanwhile may be missing. */
  list(): AsyncIterable<SealedRow>;
  /** False if the row was changed or removed since it was read. */
  replace(row: SealedRow, text: string): Promise<boolean>;
  drop(row: SealedRow): Promise<void>;
}

const rowsAtOnce = 200;

type FileRow = { session: number; call: string; name: string; text: string };

export function sealedRowsOfFile(database: Database): SealedRows {
  const page = prepareRow<FileRow>(
    database,
    `SELECT session, call, name, text FROM sealed JOIN sessions USING (session)
     WHERE (session, call) > (?, ?) ORDER BY session, call LIMIT ${rowsAtOnce}`,
  );
  const update = prepareRow<never>(
    database,
    'UPDATE sealed SET text = ? WHERE session = ? AND call = ? AND text = ?',
  );
  const remove = prepareRow<never>(
    database,
    'DELETE FROM sealed WHERE session = ? AND call = ? AND text = ?',
  );
  const places = new WeakMap<SealedRow, FileRow>();
  return {
    count: () =>
      Promise.resolve(prepareRow<{ n: number }>(database, 'SELECT count(*) AS n FROM sealed').get()?.n ?? 0),
    async *list() {
      for (let last: FileRow | undefined; ;) {
        const rows = page.all(last?.session ?? -1, last?.call ?? '');
        for (const row of rows) {
          const found = {
            sessionId: fromSqlText(row.name),
            callId: fromSqlText(row.call),
            text: fromSqlText(row.text),
          };
          places.set(found, row);
          yield found;
        }
        if (rows.length < rowsAtOnce) return;
        last = rows.at(-1);
        await new Promise(setImmediate);
      }
    },
    async replace(row, text) {
      const place = places.get(row);
      if (place === undefined) return false;
      const { changes } = await whenFree(() => update.run(text, place.session, place.call, place.text));
      return changes > 0;
    },
    async drop(row) {
      const place = places.get(row);
      if (place !== undefined) await whenFree(() => remove.run(place.session, place.call, place.text));
    },
  };
}
