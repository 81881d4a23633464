/** Removal of bodies and of whole sessions. The rows of the read tables go in the same transaction. */
import type { Ids } from '../../base/ids.ts';
import type { CounterTotal } from '../../ledger/claims.ts';
import { genesisHash } from '../../ledger/chain.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { Entry } from '../../ledger/journal.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { erasureEntry, removalEntry } from '../../ledger/own-entry.ts';
import { inUseError, refuseErasure } from '../../ledger/refuse-entry.ts';
import type { Erasure, Removal, Retention } from '../../ledger/retention.ts';
import { sessionCounterPrefixes } from '../../ledger/session-counters.ts';
import { newSessionTally } from '../../ledger/session-tally.ts';
import { exactNumbers } from './exact-numbers.ts';
import { appendOwnEntry } from './append-own-entry.ts';
import type { EntryRow } from './entry-row.ts';
import { decodeEntryRow, entryColumns } from './entry-row.ts';
import { withLiftedPositions } from './lift-positions.ts';
import { toTextArray } from './text-array.ts';
import type { PgPool, PgQuery } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';
import { countOut, putCalls, putTallies, readCalls } from './projection.ts';

export type RetentionParts = {
  readonly pool: PgPool;
  readonly ownerId: string;
  readonly ids: Ids;
  readonly salt: () => string;
  readonly now: () => number;
  readonly fill: () => Promise<void>;
  readonly onCommit: (position: number) => void;
};

export class PostgresRetention implements Retention {
  readonly #parts: RetentionParts;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  async erase(erasure: Erasure): Promise<number> {
    refuseErasure(erasure);
    await this.#parts.fill();
    return this.#change(erasure.sessionId, [erasure.sessionId], async (query, first) => {
      const rows = await readSession(query, toPgText(erasure.sessionId));
      refuseOpen(erasure.sessionId, rows, erasure.entryIds);
      const asked = erasure.entryIds && new Set(erasure.entryIds);
      const found = rows.filter(
        (row) => row.bodies !== null && (asked?.has(decodeEntryRow(row).entryId) ?? true),
      );
      if (found.length === 0) return 0;
      await this.#empty(query, erasure, found);
      const entryIds = found.map((row) => decodeEntryRow(row).entryId);
      const { ids, now } = this.#parts;
      await this.#append(query, erasureEntry(erasure, entryIds, now(), ids), first);
      return found.length;
    });
  }

  async dropSession(removal: Removal): Promise<boolean> {
    refuseErasure(removal);
    const { sessionId } = removal;
    if (sessionId === ledgerSessionId) return false;
    await this.#parts.fill();
    return this.#change(sessionId, [sessionId, ledgerSessionId], async (query, first) => {
      const session = toPgText(sessionId);
      const rows = await readSession(query, session);
      const last = rows.at(-1);
      if (last === undefined || (removal.lastHash ?? last.hash) !== last.hash) return false;
      refuseOpen(sessionId, rows, undefined);
      const totals = await leaveCounters(query, session, sessionId);
      await putTallies(query, await countOut(query, session));
      await query(
        'DELETE FROM @read_words WHERE position IN (SELECT position FROM @read_calls WHERE session_id = $1)',
        [session],
      );
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

  /** Locks the read tables and the heads, in that order, as the projection and the appends do. */
  async #change<Result>(
    sessionId: string,
    sessions: readonly string[],
    work: (query: PgQuery, first: number) => Promise<Result>,
  ): Promise<Result> {
    const { pool, onCommit } = this.#parts;
    let position = 0;
    const change = async (query: PgQuery): Promise<Result> => {
      await query('SELECT position FROM @read_progress FOR UPDATE');
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

  async #empty(query: PgQuery, { sessionId, entryIds }: Erasure, found: readonly EntryRow[]): Promise<void> {
    const session = toPgText(sessionId);
    await query(
      'UPDATE @entries SET bodies = NULL, salt = NULL WHERE session_id = $1 AND sequence = ANY ($2::bigint[])',
      [session, found.map(({ sequence }) => String(sequence))],
    );
    if (entryIds === undefined)
      await query(`UPDATE @states SET text = '{}' WHERE session_id = $1`, [session]);
    const calls = [...new Set(found.flatMap(({ call_id }) => call_id ?? []))];
    for (const table of ['sealed', 'artifacts'])
      await query(`DELETE FROM @${table} WHERE session_id = $1 AND call_id = ANY ($2)`, [session, calls]);
    const whole = await readCalls(
      query,
      calls.map((call_id) => ({ session_id: session, call_id })),
    );
    // Only texts change: what the session counts stays.
    await putCalls(query, [...whole.values()], () => newSessionTally(sessionId));
  }

  async #append(
    query: PgQuery,
    entry: Entry & { readonly totals?: readonly CounterTotal[] },
    position: number,
  ): Promise<void> {
    const { ownerId, salt } = this.#parts;
    await appendOwnEntry(query, writeEntry(entry, ownerId, salt), entry.sessionId, position);
  }
}

const tablesBySession = [
  'entries',
  'sessions',
  'claims',
  'sealed',
  'unsettled',
  'states',
  'artifacts',
  'read_calls',
  'read_confirmations',
  'read_sessions',
];

const readSession = (query: PgQuery, session: string): Promise<readonly EntryRow[]> =>
  query<EntryRow>(`SELECT ${entryColumns} FROM @entries e WHERE e.session_id = $1 ORDER BY e.sequence`, [
    session,
  ]);

/** Throws where a call has no outcome: any call of the session, or only calls with one of these entries. */
function refuseOpen(
  sessionId: string,
  rows: readonly EntryRow[],
  entryIds: readonly string[] | undefined,
): void {
  const asked = entryIds && new Set(entryIds);
  const settled = new Map<string, boolean>();
  const touched = new Set<string>();
  for (const row of rows) {
    if (row.call_id === null) continue;
    const { entryId, events } = decodeEntryRow(row);
    if (settled.get(row.call_id) !== true) settled.set(row.call_id, events.some(isFinal));
    if (asked === undefined || asked.has(entryId)) touched.add(row.call_id);
  }
  for (const call of touched) if (settled.get(call) !== true) throw inUseError(sessionId, fromPgText(call));
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

const isFinal = (event: { readonly type: string; readonly final?: unknown }): boolean =>
  event.type === 'tool.responded' && event.final === true;
