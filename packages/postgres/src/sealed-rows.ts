/** The sealed inputs of a ledger in PostgreSQL, row by row, for a rotation of its keys. */
import type { PgPool } from './pg-pool.ts';
import { fromPgText } from './pg-values.ts';

type SealedRow = { readonly sessionId: string; readonly callId: string; readonly text: string };

interface SealedRows {
  count(): Promise<number>;
  list(): AsyncIterable<SealedRow>;
  replace(row: SealedRow, text: string): Promise<boolean>;
  drop(row: SealedRow): Promise<void>;
}

const rowsAtOnce = 200;

type DatabaseRow = { session_id: string; call_id: string; text: string };

export function sealedRowsOfDatabase(pool: PgPool): SealedRows {
  const places = new WeakMap<SealedRow, DatabaseRow>();
  return {
    async count() {
      const [row] = await pool.query<{ n: number }>('SELECT count(*)::integer AS n FROM @sealed');
      return row?.n ?? 0;
    },
    async *list() {
      for (let last: DatabaseRow | undefined; ;) {
        const rows: readonly DatabaseRow[] = await pool.query<DatabaseRow>(
          `SELECT session_id, call_id, text FROM @sealed WHERE (session_id, call_id) > ($1, $2)
           ORDER BY session_id, call_id LIMIT ${rowsAtOnce}`,
          [last?.session_id ?? '', last?.call_id ?? ''],
        );
        for (const row of rows) {
          const found = {
            sessionId: fromPgText(row.session_id),
            callId: fromPgText(row.call_id),
            text: row.text,
          };
          places.set(found, row);
          yield found;
        }
        if (rows.length < rowsAtOnce) return;
        last = rows.at(-1);
      }
    },
    async replace(row, text) {
      const place = places.get(row);
      if (place === undefined) return false;
      const changed = await pool.query(
        'UPDATE @sealed SET text = $1 WHERE session_id = $2 AND call_id = $3 AND text = $4 RETURNING 1',
        [text, place.session_id, place.call_id, place.text],
      );
      return changed.length > 0;
    },
    async drop(row) {
      const place = places.get(row);
      if (place !== undefined)
        await pool.query('DELETE FROM @sealed WHERE session_id = $1 AND call_id = $2 AND text = $3', [
          place.session_id,
          place.call_id,
          place.text,
        ]);
    },
  };
}
