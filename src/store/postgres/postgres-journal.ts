import { QuittanceError } from '../../base/error.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import { readJsonText } from '../../base/json-text.ts';
import type { Awaitable, JsonObject } from '../../base/json.ts';
import { chainHash, genesisHash } from '../../ledger/chain.ts';
import { bodiesDigest } from '../../ledger/formats/v1/bodies-digest.ts';
import type {
  AppendResult,
  Entry,
  Journal,
  SessionScope,
  StoredCall,
  StoredState,
} from '../../ledger/journal.ts';
import { readOnlyError, refuseEntry } from '../../ledger/refuse-entry.ts';
import { takesOn } from '../../ledger/takes-on.ts';
import { lastInputDigest } from '../../ledger/unsettled-effect.ts';
import type { LookUp } from '../../ledger/look-up.ts';
import { lastState } from '../../ledger/last-state.ts';
import type { AppendItem } from './append-item.ts';
import { findDoubt, toAppendItem } from './append-item.ts';
import type { Appended } from './append-result.ts';
import type { Changes } from './changes.ts';
import type { EntryRow } from './entry-row.ts';
import { decodeEntryRow, entryColumns } from './entry-row.ts';
import type { EffectGuesses } from './effect-guesses.ts';
import type { OrdRow } from './gathered-read.ts';
import { GatheredRead } from './gathered-read.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';
import { SeenCalls } from './seen-calls.ts';

export type JournalParts = {
  readonly pool: PgPool;
  readonly changes: Changes;
  readonly ownerId: string;
  readonly salt: () => string;
  /** Undefined where the handle only reads. */
  readonly append: ((item: AppendItem) => Promise<Appended>) | undefined;
  readonly guesses: EffectGuesses;
};

export class PostgresJournal implements Journal {
  readonly #parts: JournalParts;
  readonly #calls: GatheredRead<EntryRow & OrdRow>;
  readonly #sizes: GatheredRead<{ readonly bytes: number } & OrdRow>;
  readonly #seen = new SeenCalls();

  constructor(parts: JournalParts) {
    this.#parts = parts;
    this.#calls = new GatheredRead(parts.pool, readCallsSql);
    this.#sizes = new GatheredRead(parts.pool, measureCallsSql);
  }

  async append(entry: Entry): Promise<AppendResult> {
    const { ownerId, salt, append, guesses } = this.#parts;
    refuseEntry(entry);
    if (append === undefined) throw readOnlyError(undefined);
    const doubt = findDoubt(entry);
    const digest = doubt && (await this.#digestOf(entry, doubt.callId));
    const effects = guesses.takeFor(entry);
    const { result } = await append(toAppendItem(entry, ownerId, salt, digest, effects));
    // The first entry makes the call known. Forgetting one costs a look-up, not an answer.
    if (entry.callId !== undefined && entry.expectedVersion === 0)
      this.#seen.add(entry.sessionId, entry.callId);
    if (result.status !== 'unsettled') return result;
    guesses.noteWrong(entry.sessionId, effects);
    return { status: 'moved', subject: unsettledSubject, version: 0 };
  }

  /** Stays synchronous where nothing is looked up. */
  readCall(sessionId: string, callId: string, lookUp: LookUp = 'certain'): Awaitable<StoredCall | undefined> {
    if (lookUp === 'before_append' && !this.#seen.has(sessionId, callId)) return undefined;
    return this.#readCall(sessionId, callId);
  }

  async #readCall(sessionId: string, callId: string): Promise<StoredCall | undefined> {
    const rows = await this.#calls.read([toPgText(sessionId), toPgText(callId)]);
    if (rows.length === 0) return undefined;
    this.#seen.add(sessionId, callId);
    return this.#toStoredCall(sessionId, callId, rows);
  }

  async measureCall(sessionId: string, callId: string): Promise<number> {
    const [row] = await this.#sizes.read([toPgText(sessionId), toPgText(callId)]);
    return row?.bytes ?? 0;
  }

  async readSession(sessionId: string, scope: SessionScope = 'all'): Promise<readonly QuittanceEvent[]> {
    const rows = await this.#parts.pool.read<Pick<EntryRow, 'text' | 'bodies'>>(
      `SELECT e.text, e.bodies FROM @entries e
       WHERE e.session_id = $1${scope === 'all' ? '' : ' AND e.call_id IS NULL'} ORDER BY e.sequence`,
      [toPgText(sessionId)],
    );
    // Events of unknown types are among them: readers that fold events skip those.
    return rows.flatMap((row) => decodeEntryRow(row).events as readonly QuittanceEvent[]);
  }

  /** According to the entry that last moved it. The row says what an erased entry no longer does. */
  async readState(sessionId: string, subject: string): Promise<StoredState | undefined> {
    const [row] = await this.#parts.pool.read<{
      version: number;
      state: string;
      text: string | null;
      bodies: string | null;
    }>(
      `SELECT s.version, s.text AS state, e.text, e.bodies FROM @states s
       LEFT JOIN @marks m ON m.key = @state_mark(s.session_id, s.subject) LEFT JOIN @entries e ON e.position = m.position
       WHERE s.session_id = $1 AND s.subject = $2`,
      [toPgText(sessionId), toPgText(subject)],
    );
    if (row === undefined) return undefined;
    const entry = row.text === null ? undefined : decodeEntryRow({ text: row.text, bodies: row.bodies });
    const moved = entry?.moves?.find((move) => move.subject === subject);
    if (entry === undefined || moved === undefined) throw changedStateError(sessionId, subject);
    const state = entry.erased ? readJsonText(row.state) : lastState(entry.events, subject);
    return { version: moved.expectedVersion + 1, state: state as JsonObject };
  }

  async readSealed(sessionId: string, callId: string): Promise<string | undefined> {
    const [row] = await this.#parts.pool.read<{ text: string }>(
      'SELECT text FROM @sealed WHERE session_id = $1 AND call_id = $2',
      [toPgText(sessionId), toPgText(callId)],
    );
    return row && fromPgText(row.text);
  }

  whenChanged(sessionId: string, callId: string, version: number, signal?: AbortSignal): Promise<void> {
    return this.#parts.changes.call(sessionId, callId, version, signal);
  }

  async #digestOf(entry: Entry, callId: string): Promise<string | undefined> {
    const digest = lastInputDigest(entry.events, callId);
    if (digest !== undefined) return digest;
    const stored = await this.readCall(entry.sessionId, callId);
    return stored && lastInputDigest(stored.events, callId);
  }

  #toStoredCall(sessionId: string, callId: string, rows: readonly EntryRow[]): StoredCall {
    let version = 0;
    let ownerId = '';
    let claimKey: string | undefined;
    const events: QuittanceEvent[] = [];
    const entries = rows.map((row) => ({ row, entry: decodeEntryRow(row) }));
    for (const { row, entry } of entries) {
      const own = entry.expectedVersion === 'any' ? null : entry.expectedVersion + 1;
      if (entry.sessionId !== sessionId || entry.callId !== callId || row.version !== own)
        throw changedError(sessionId, callId);
      claimKey = entry.claim?.key ?? claimKey;
      // A remark does not move the call, so its owner stays the same.
      if (row.version !== null) {
        if (row.version !== version + 1) throw changedError(sessionId, callId);
        ({ version } = row);
        if (takesOn(entry.events as readonly QuittanceEvent[])) ({ ownerId } = entry);
      }
      for (const event of entry.events as readonly QuittanceEvent[])
        if ('callId' in event && event.callId === callId) events.push(event);
    }
    const depth = entries[0]?.entry.depth ?? 0;
    const stored: StoredCall = {
      version,
      events,
      ownerId,
      ...(depth > 0 && { depth }),
      ...(claimKey !== undefined && { claimKey }),
    };
    // Not enumerable, so that the stored call can be cloned and compared as data.
    return Object.defineProperty(stored, 'findAlteration', {
      value: () =>
        this.#findAlteration(
          sessionId,
          rows,
          entries.map(({ entry }) => entry.bodiesDigest),
        ),
    });
  }

  /** Compares each row with its place in the chain and with the digest of its bodies. */
  async #findAlteration(
    sessionId: string,
    rows: readonly EntryRow[],
    digests: readonly (string | undefined)[],
  ): Promise<string | undefined> {
    const before = await this.#parts.pool.read<{ sequence: number; hash: string }>(
      'SELECT sequence, hash FROM @entries WHERE session_id = $1 AND sequence = ANY ($2::bigint[])',
      [toPgText(sessionId), rows.map(({ sequence }) => String(sequence - 1))],
    );
    const hashes = new Map(before.map(({ sequence, hash }) => [sequence, hash]));
    for (const [index, row] of rows.entries()) {
      const previous = row.sequence === 1 ? genesisHash(sessionId) : hashes.get(row.sequence - 1);
      if (previous === undefined || chainHash(previous, row.sequence, row.text) !== row.hash)
        return 'a stored entry of the call was changed';
      const isErased = row.bodies === null && row.salt === null;
      if (!isErased && bodiesDigest(row.salt ?? '', row.bodies ?? '') !== digests[index])
        return 'the stored content of an entry of the call was changed';
    }
    return undefined;
  }
}

/** Named in the answer to an append whose look-up for unsettled effects was answered too early. */
const unsettledSubject = 'quittance.unsettled';

const readCallsSql = `SELECT x.o::integer AS ord, ${entryColumns}
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY x(s, c, o)
  JOIN @entries e ON e.session_id = x.s AND e.call_id = x.c ORDER BY x.o, e.sequence`;

const measureCallsSql = `SELECT x.o::integer AS ord,
    sum(octet_length(e.text) + coalesce(octet_length(e.bodies), 0))::bigint AS bytes
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY x(s, c, o)
  JOIN @entries e ON e.session_id = x.s AND e.call_id = x.c GROUP BY x.o`;

const changedStateError = (sessionId: string, subject: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The row of ${JSON.stringify(subject)} of session ${JSON.stringify(sessionId)} in the table "states" does not agree with ` +
      'the entries. Another program changed it. `quittance rebuild` makes it again.',
    { sessionId },
  );

const changedError = (sessionId: string, callId: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `Another program moved, changed or removed entries of call ${JSON.stringify(callId)} in session ` +
      `${JSON.stringify(sessionId)}, so the call is not run. Run \`quittance verify\` to see where.`,
    { sessionId, callId },
  );
