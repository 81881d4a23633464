/** Appends an entry of the ledger itself, in a transaction that holds the head of its session. */
import type { WrittenEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { PgQuery } from './pg-pool.ts';
import { toPgText } from './pg-text.ts';

export async function appendOwnEntry(
  query: PgQuery,
  { text, bodies, salt }: WrittenEntry,
  sessionId: string,
  position: number,
): Promise<void> {
  await query(
    `WITH head AS (UPDATE @sessions SET sequence = sequence + 1, position = $2,
         hash = @chain_step(NULL, hash, sequence + 1, $3) WHERE session_id = $1 RETURNING sequence, hash)
     INSERT INTO @entries (position, session_id, sequence, text, bodies, salt, hash)
     SELECT $2, $1, sequence, $3, $4, $5, hash FROM head`,
    [toPgText(sessionId), position, text, bodies ?? null, salt ?? null],
  );
}
