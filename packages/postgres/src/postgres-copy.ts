/** Takes a copy of another ledger into PostgreSQL, in one transaction. Positions stay as they were. */
import type { TakeCopy } from 'quittance/internal/ledger/retention';
import { readEntry } from 'quittance/internal/ledger/formats/v1/read-entry';
import { checkOfKeys, passKeyCheck } from 'quittance/internal/ledger/seal';
import { inUseByOthers, otherKey, takeCopy } from 'quittance/internal/store/sql/copy';
import type { StoredEntry } from 'quittance/internal/ledger/stored-entry';
import type { CopyDialect } from 'quittance/internal/store/sql/copy';
import { createPgDriver, storedSide } from './dialect.ts';
import { migrate } from './migrate.ts';
import { liftPositions } from './positions.ts';
import { putArtifactSql, toArtifactValues } from './postgres-ledger.ts';
import type { PgPool, PgQuery } from './pg-pool.ts';
import { fromPgText, toPgText, toIntArray, toTextArray } from './pg-values.ts';
import { relistIn, rebuildWith } from './rebuild.ts';

export const takePostgresCopy =
  (pool: PgPool): TakeCopy =>
  async (source, signal) => {
    const { ledgerId } = await migrate(pool);
    const totals = await pool.longTransaction(async (query) => {
      await query('LOCK TABLE @sessions, @owners IN ACCESS EXCLUSIVE MODE');
      await refuseUsed(query);
      await keepKey(query, ledgerId, source.sealKey);
      const taken = await takeCopy(createPgDriver(query), toDialect(query), source, signal);
      await rebuildWith(query, Date.now());
      await relistIn(query);
      return taken;
    });
    await liftPositions(pool);
    return totals;
  };

const toDialect = (query: PgQuery): CopyDialect => ({
  ...storedSide,
  async readHeads() {
    const rows = await query<{ session_id: string; sequence: number; hash: string }>(
      'SELECT session_id, sequence, hash FROM @sessions WHERE sequence > 0',
    );
    return rows.map(({ session_id, ...head }) => ({ sessionId: fromPgText(session_id), ...head }));
  },
  putEntries: (_, entries) => putEntries(query, entries),
  async emptyEntry(_, { sessionId, sequence }) {
    await query(
      `UPDATE @entries SET bodies = NULL, salt = NULL
       WHERE session_id = $1 AND sequence = $2 AND bodies IS NOT NULL`,
      [toPgText(sessionId), sequence],
    );
  },
  artifacts: '@artifacts',
  async putArtifact(_, artifact) {
    await query(putArtifactSql, toArtifactValues(artifact));
  },
});

async function refuseUsed(query: PgQuery): Promise<void> {
  const [used] = await query(
    `SELECT 1 FROM @owners WHERE NOT ended AND renewed_at + lease_ms * interval '1 millisecond' > clock_timestamp() LIMIT 1`,
  );
  if (used !== undefined) throw inUseByOthers();
}

/** Processes of the copy must have the key of the source. */
async function keepKey(query: PgQuery, ledgerId: string, key: Uint8Array | undefined): Promise<void> {
  if (key === undefined) return;
  await query('UPDATE @ledger SET key_check = $1 WHERE key_check IS NULL', [checkOfKeys(key, ledgerId)]);
  const [row] = await query<{ key_check: string }>('SELECT key_check FROM @ledger');
  if (row === undefined || !passKeyCheck(key, ledgerId, row.key_check)) throw otherKey();
}

async function putEntries(query: PgQuery, entries: readonly StoredEntry[]): Promise<void> {
  const read = entries.map(readEntry);
  await query(
    `INSERT INTO @entries (position, session_id, sequence, call_id, version, text, bodies, salt, hash)
     SELECT x.position::bigint, x.session, x.sequence, x.call, x.version, x.text, x.bodies, x.salt, x.hash
     FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::text[], $9::text[])
       AS x(position, session, sequence, call, version, text, bodies, salt, hash)`,
    [
      toTextArray(entries.map(({ position }) => String(position))),
      toTextArray(entries.map(({ sessionId }) => toPgText(sessionId))),
      toIntArray(entries.map(({ sequence }) => sequence)),
      toTextArray(read.map(({ callId }) => (callId === undefined ? null : toPgText(callId)))),
      toIntArray(
        read.map(({ callId, expectedVersion }) =>
          callId === undefined || expectedVersion === 'any' ? null : expectedVersion + 1,
        ),
      ),
      toTextArray(entries.map(({ text }) => text)),
      toTextArray(entries.map(({ bodies }) => bodies ?? null)),
      toTextArray(entries.map(({ salt }) => salt ?? null)),
      toTextArray(entries.map(({ hash }) => hash)),
    ],
  );
}
