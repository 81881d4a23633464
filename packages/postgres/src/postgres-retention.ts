/** Removal of bodies and of whole sessions. The rows of the lists change in the same transaction. */
import type { Ids } from 'quittance/internal/base/ids';
import type { CounterTotal } from 'quittance/internal/ledger/claims';
import { genesisHash } from 'quittance/internal/ledger/chain';
import type { Entry } from 'quittance/internal/ledger/journal';
import { ledgerSessionId } from 'quittance/internal/ledger/ledger';
import { erasureEntry, removalEntry } from 'quittance/internal/ledger/own-entry';
import { refuseErasure } from 'quittance/internal/ledger/prepare-entry';
import type { Erasure, Removal } from 'quittance/internal/ledger/retention';
import { sessionCounterPrefixes } from 'quittance/internal/ledger/claims';
import { exactNumbers, toTextArray, fromPgText, toPgText } from './pg-values.ts';
import { appendOwnEntry, countOutSql, relistCalls, removeLists } from './rebuild.ts';
import type { CallEntryRow } from 'quittance/internal/store/sql/entries';
import type { RemovedEntry } from 'quittance/internal/store/sql/removal';
import { RemovalScan } from 'quittance/internal/store/sql/removal';
import { withLiftedPositions } from './positions.ts';
import type { PgPool, PgQuery } from './pg-pool.ts';

export type RetentionParts = {
  readonly pool: PgPool;
  readonly ownerId: string;
  readonly ids: Ids;
  readonly salt: () => string;
  readonly now: () => number;
  readonly onCommit: (position: number) => void;
};

export class PostgresRetention {
  readonly #parts: RetentionParts;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  async erase(erasure: Erasure): Promise<number> {
    refuseErasure(erasure);
    return this.#change(erasure.sessionId, [erasure.sessionId], async (query, first) => {
      const found = (await scanSession(query, erasure)).scan.erased();
      if (found.length === 0) return 0;
      await this.#empty(query, erasure, found);
      const entryIds = found.map(({ entryId }) => entryId);
      const { ids, now } = this.#parts;
      await this.#append(query, erasureEntry(erasure, entryIds, now(), ids), first);
      return found.length;
    });
  }

  async dropSession(removal: Removal): Promise<boolean> {
    refuseErasure(removal);
    const { sessionId } = removal;
    if (sessionId === ledgerSessionId) return false;
    return this.#change(sessionId, [sessionId, ledgerSessionId], async (query, first) => {
      const session = toPgText(sessionId);
      const { scan, last } = await scanSession(query, { sessionId });
      if (last === undefined || (removal.lastHash ?? last.hash) !== last.hash) return false;
      scan.requireSettled();
      const totals = await leaveCounters(query, session, sessionId);
      await query(countOutSql, [session]);
      await removeLists(query, toTextArray([session]));
      for (const table of tablesBySession)
        await query(`DELETE FROM @${table} WHERE session_id = $1`, [session]);
      const { ids, now } = this.#parts;
      const head = { sessionId, sequence: last.sequence, hash: last.hash };
      await this.#append(query, { ...removalEntry(removal, head, now(), ids), totals }, first);
      for (const { counter } of totals) {
        await query('UPDATE @counters SET position = $2 WHERE name = $1', [toPgText(counter), first]);
        await query('SELECT @put_mark($1, $2)', [`counter ${toPgText(counter)}`, first]);
      }
      return true;
    });
  }

  /** Locks the heads, as an append does. */
  async #change<Result>(
    sessionId: string,
    sessions: readonly string[],
    work: (query: PgQuery, first: number) => Promise<Result>,
  ): Promise<Result> {
    const { pool, onCommit } = this.#parts;
    let position = 0;
    const change = async (query: PgQuery): Promise<Result> => {
      const [found] = await query('SELECT 1 FROM @sessions WHERE session_id = $1 AND sequence > 0', [
        toPgText(sessionId),
      ]);
      const names = found === undefined ? sessions.filter((name) => name !== sessionId) : sessions;
      const [locked] = await query<{ first: number }>('SELECT first FROM @lock_heads($1, $2, true)', [
        toTextArray(names.map(toPgText)),
        toTextArray(names.map(genesisHash)),
      ]);
      position = locked?.first ?? 0;
      return work(query, position);
    };
    const result = await withLiftedPositions(pool, () => pool.transaction(change));
    onCommit(position);
    return result;
  }

  async #empty(
    query: PgQuery,
    { sessionId, entryIds }: Erasure,
    found: readonly RemovedEntry<number>[],
  ): Promise<void> {
    const session = toPgText(sessionId);
    await query(
      'UPDATE @entries SET bodies = NULL, salt = NULL WHERE session_id = $1 AND sequence = ANY ($2::bigint[])',
      [session, found.map(({ place }) => String(place))],
    );
    if (entryIds === undefined)
      await query(`UPDATE @states SET text = '{}' WHERE session_id = $1`, [session]);
    const calls = [
      ...new Set(found.flatMap(({ callId }) => (callId === undefined ? [] : [toPgText(callId)]))),
    ];
    for (const table of ['sealed', 'artifacts'])
      await query(`DELETE FROM @${table} WHERE session_id = $1 AND call_id = ANY ($2)`, [session, calls]);
    await relistCalls(query, session, calls);
  }

  async #append(
    query: PgQuery,
    entry: Entry & { readonly totals?: readonly CounterTotal[] },
    position: number,
  ): Promise<void> {
    await appendOwnEntry(query, entry, this.#parts, position);
  }
}

const tablesBySession = ['entries', 'sessions', 'claims', 'sealed', 'unsettled', 'states', 'artifacts'];

/** The entries of a session, in order, and the last of them. */
async function scanSession(
  query: PgQuery,
  erasure: Pick<Erasure, 'sessionId' | 'entryIds'>,
): Promise<{ readonly scan: RemovalScan<number>; readonly last: CallEntryRow | undefined }> {
  const rows = await query<CallEntryRow>(
    'SELECT sequence, version, text, bodies, salt, hash FROM @entries WHERE session_id = $1 ORDER BY sequence',
    [toPgText(erasure.sessionId)],
  );
  const scan = new RemovalScan<number>(erasure);
  for (const row of rows) scan.add(row, row.sequence);
  return { scan, last: rows.at(-1) };
}

/**
 * Removes the counters of the session. Returns the totals of shared counters that an entry of the session stated last:
 * that entry goes, so another one must state them.
 */
async function leaveCounters(
  query: PgQuery,
  session: string,
  sessionId: string,
): Promise<readonly CounterTotal[]> {
  for (const prefix of sessionCounterPrefixes(sessionId)) {
    await query('DELETE FROM @counters WHERE starts_with(name, $1)', [toPgText(prefix)]);
    await query('DELETE FROM @marks WHERE starts_with(key, $1)', [`counter ${toPgText(prefix)}`]);
  }
  await query(
    `DELETE FROM @marks WHERE key IN (SELECT 'claim ' || key FROM @claims WHERE session_id = $1
       UNION ALL SELECT @state_mark(session_id, subject) FROM @states WHERE session_id = $1)`,
    [session],
  );
  const rows = await query<{ name: string; used: number; reserved: number }>(
    `SELECT ${exactNumbers}, name, used, reserved FROM @counters
     WHERE position IN (SELECT e.position FROM @entries e WHERE e.session_id = $1) ORDER BY name FOR UPDATE`,
    [session],
  );
  return rows.map(({ name, used, reserved }) => ({ counter: fromPgText(name), used, reserved }));
}
