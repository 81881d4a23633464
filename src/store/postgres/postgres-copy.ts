/** Takes a copy of another ledger into PostgreSQL, in one transaction. Positions stay as they were. */
import { hash as digest } from 'node:crypto';
import type { CopySource, CopyTotals, TakeCopy } from '../../ledger/copy-source.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { checkOfKeys, passKeyCheck } from '../../ledger/key-ring.ts';
import { inUseByOthers, MissingEntries, otherKey } from '../../ledger/missing-entries.ts';
import type { SideRow } from '../../ledger/side-row.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import { migrate } from './migrate.ts';
import { liftPositions } from './lift-positions.ts';
import type { PgPool, PgQuery } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';
import { rebuildWith } from './side-rebuild.ts';
import { toIntArray, toTextArray } from './text-array.ts';

const entriesAtOnce = 500;
const charsAtOnce = 4_000_000;

export const takePostgresCopy =
  (pool: PgPool): TakeCopy =>
  async (source, signal) => {
    const { ledgerId } = await migrate(pool);
    const totals = await pool.longTransaction(async (query) => {
      await query('LOCK TABLE @sessions, @owners IN ACCESS EXCLUSIVE MODE');
      await refuseUsed(query);
      await keepKey(query, ledgerId, source.sealKey);
      return takeAll(query, source, signal);
    });
    await liftPositions(pool);
    return totals;
  };

async function takeAll(query: PgQuery, source: CopySource, signal: AbortSignal): Promise<CopyTotals> {
  const heads = await query<{ session_id: string; sequence: number; hash: string }>(
    'SELECT session_id, sequence, hash FROM @sessions WHERE sequence > 0',
  );
  const missing = new MissingEntries(
    heads.map(({ session_id, ...head }) => ({ sessionId: fromPgText(session_id), ...head })),
  );
  let batch: StoredEntry[] = [];
  let chars = 0;
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await putEntries(query, batch);
    [batch, chars] = [[], 0];
  };
  for await (const entry of source.entries()) {
    signal.throwIfAborted();
    if (missing.isMissing(entry)) {
      batch.push(entry);
      chars += entry.text.length + (entry.bodies?.length ?? 0);
      if (batch.length >= entriesAtOnce || chars >= charsAtOnce) await flush();
    } else if (entry.bodies === undefined)
      await query(
        `UPDATE @entries SET bodies = NULL, salt = NULL
         WHERE session_id = $1 AND sequence = $2 AND bodies IS NOT NULL`,
        [toPgText(entry.sessionId), entry.sequence],
      );
  }
  await flush();
  missing.requireWhole();
  await putSideRows(query, source);
  const artifacts = await putArtifacts(query, source, signal);
  await rebuildWith(query, Date.now());
  return { entries: missing.taken, sessions: missing.sessions, artifacts };
}

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

async function putSideRows(query: PgQuery, source: CopySource): Promise<void> {
  for (const table of ['claims', 'counters', 'states', 'sealed']) await query(`DELETE FROM @${table}`);
  for await (const row of source.sideRows()) await putSideRow(query, row);
  for await (const { sessionId, callId, text } of source.sealed())
    await query('INSERT INTO @sealed (session_id, call_id, text) VALUES ($1, $2, $3)', [
      toPgText(sessionId),
      toPgText(callId),
      text,
    ]);
}

/** The entries decide; these rows say what removed sessions no longer state. */
async function putSideRow(query: PgQuery, row: SideRow): Promise<void> {
  switch (row.kind) {
    case 'claim':
      await query('INSERT INTO @claims (key, session_id, call_id, digest) VALUES ($1, $2, $3, $4)', [
        toPgText(row.key),
        toPgText(row.sessionId),
        toPgText(row.callId),
        toPgText(row.inputDigest),
      ]);
      return;
    case 'counter':
      await query('INSERT INTO @counters (name, used, reserved, position) VALUES ($1, $2, $3, 0)', [
        toPgText(row.name),
        row.used,
        row.reserved,
      ]);
      return;
    case 'state':
      if (row.sessionId !== undefined)
        await query('INSERT INTO @states (session_id, subject, version, text) VALUES ($1, $2, $3, $4)', [
          toPgText(row.sessionId),
          toPgText(row.subject),
          row.version,
          row.text,
        ]);
      return;
    case 'unsettled':
    case 'sealed':
    case 'artifact':
      return;
  }
}

async function putArtifacts(query: PgQuery, source: CopySource, signal: AbortSignal): Promise<number> {
  await query('DELETE FROM @artifacts');
  let count = 0;
  for await (const { sessionId, artifactId, callId, mimeType, content } of source.artifacts()) {
    signal.throwIfAborted();
    const encoding = typeof content !== 'string' ? 'bytes' : content.isWellFormed() ? 'utf8' : 'utf16le';
    const bytes =
      typeof content === 'string' ? Buffer.from(content, encoding as BufferEncoding) : Buffer.from(content); // of a string
    await query(
      `INSERT INTO @artifacts (session_id, artifact_id, call_id, mime, encoding, bytes, hash, content)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        toPgText(sessionId),
        toPgText(artifactId),
        toPgText(callId),
        toPgText(mimeType),
        encoding,
        bytes.byteLength,
        digest('sha256', bytes),
        bytes,
      ],
    );
    count++;
  }
  return count;
}
