/**
 * Removes data from a ledger: bodies, permanently and with a mark, and whole sessions, with an entry in the ledger's
 * own chain.
 */
import type { Ids } from '../../base/ids.ts';
import type { Head } from '../../ledger/chain.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { CounterTotal } from '../../ledger/claims.ts';
import type { Entry } from '../../ledger/journal.ts';
import type { Erasure, Removal, Retention } from '../../ledger/retention.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { erasureEntry, removalEntry } from '../../ledger/own-entry.ts';
import { inUseError, refuseErasure } from '../../ledger/refuse-entry.ts';
import { sessionCounterPrefixes } from '../../ledger/session-counters.ts';
import type { Appender } from './appender.ts';
import type { ArtifactTable } from './artifact-table.ts';
import { backoffMs } from './backoff.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import type { EntryRow } from './entry-row.ts';
import { decode } from './entry-row.ts';
import type { Heads } from './heads.ts';
import type { SessionHead } from './session-head.ts';
import type { Marks } from './marks.ts';
import { markOf } from './marks.ts';
import type { SideTables } from './side-tables.ts';
import { fromSqlText } from './sql-text.ts';
import type { Writer } from './writer.ts';

type Found = { readonly position: number; readonly entryId: string; readonly callId: string | undefined };

/** A limited number per commit, so that no writer waits long for the lock. */
const entriesPerCommit = 500;
/** About 50 ms. */
const mostTries = 20;

export class SqliteRetention implements Retention {
  readonly #parts: RetentionParts;
  /** Empties the log. Gives 1 if it cannot be emptied now. */
  readonly #emptied: Statement<number>;
  readonly #empty: Statement<never>;
  readonly #dropEntries: Statement<never>;
  readonly #dropIndex: Statement<never>;
  readonly #dropName: Statement<never>;
  readonly #countRemoval: Statement<never>;

  constructor(database: Database, parts: RetentionParts) {
    this.#parts = parts;
    this.#emptied = prepareValue(database, 'PRAGMA wal_checkpoint(TRUNCATE)');
    this.#empty = prepareRow(database, 'UPDATE entries SET bodies = NULL, salt = NULL WHERE position = ?');
    this.#dropEntries = prepareRow(
      database,
      `DELETE FROM entries WHERE position IN (
         SELECT value FROM entry_index, json_each('[' || positions || ']') WHERE session = ?)`,
    );
    this.#dropIndex = prepareRow(database, 'DELETE FROM entry_index WHERE session = ?');
    this.#countRemoval = prepareRow(database, 'UPDATE ledger SET removals = removals + 1');
    this.#dropName = prepareRow(database, 'DELETE FROM sessions WHERE session = ?');
  }

  async erase(erasure: Erasure): Promise<number> {
    refuseErasure(erasure);
    const { heads, writer, artifacts } = this.#parts;
    heads.refresh();
    const head = heads.find(erasure.sessionId);
    if (head === undefined) return 0;
    const found = await this.#find(head, erasure);
    for (let from = 0; from < found.length; from += entriesPerCommit) {
      const some = found.slice(from, from + entriesPerCommit);
      await artifacts.sweep(await writer.run(() => this.#eraseSome(erasure, some)));
    }
    await this.#emptyLog();
    return found.length;
  }

  async dropSession(removal: Removal): Promise<boolean> {
    refuseErasure(removal);
    const { sessionId } = removal;
    const { heads, writer, artifacts } = this.#parts;
    if (sessionId === ledgerSessionId) return false;
    for (;;) {
      heads.refresh();
      const head = heads.find(sessionId);
      if (head === undefined || (removal.lastHash ?? head.hash) !== head.hash) return false;
      const { session, sequence } = head;
      const touched = await this.#look(head, sessionId);
      const hashes = await writer.run(() => {
        const now = heads.find(sessionId);
        // Later appends have not been checked.
        if (now?.session !== session || now.sequence !== sequence) return undefined;
        return this.#drop(removal, now, touched);
      });
      if (hashes === undefined) continue;
      await artifacts.sweep(hashes);
      await this.#emptyLog();
      return true;
    }
  }

  /**
   * Removed data may still be in the log file. It cannot be emptied while others read, write or copy it, which takes
   * them milliseconds. After some attempts it is left to them: it is then emptied a little later.
   */
  async #emptyLog(): Promise<void> {
    for (let tries = 0; tries < mostTries; tries++) {
      this.#parts.heads.endSnapshot();
      if (this.#emptied.get() === 0) return;
      await new Promise((resolve) => setTimeout(resolve, backoffMs(tries)));
    }
  }

  /** Entries to erase. Throws if one belongs to an open call. */
  async #find(head: SessionHead, { sessionId, entryIds }: Erasure): Promise<Found[]> {
    const asked = entryIds && new Set(entryIds);
    const found: Found[] = [];
    const settled = new Set<string>();
    for await (const row of this.#entriesOf(head)) {
      const { entryId, callId, events } = decode(row);
      if (callId !== undefined && events.some(isFinal)) settled.add(callId);
      if (row.bodies !== null && (asked?.has(entryId) ?? true))
        found.push({ position: row.position, entryId, callId });
    }
    for (const { callId } of found)
      if (callId !== undefined && !settled.has(callId)) throw inUseError(sessionId, callId);
    return found;
  }

  /** Throws if a call is open. Returns the keys and counters that the session's entries mention. */
  async #look(head: SessionHead, sessionId: string): Promise<Touched> {
    const calls = new Map<string, boolean>();
    const touched: Touched = { claims: new Set(), counters: new Set() };
    for await (const row of this.#entriesOf(head)) {
      const { events, claim, reserve = [], settle = [] } = decode(row);
      if (claim !== undefined) touched.claims.add(claim.key);
      for (const { counter } of [...reserve, ...settle]) touched.counters.add(counter);
      if (row.call !== null && calls.get(row.call) !== true) calls.set(row.call, events.some(isFinal));
    }
    for (const [call, isSettled] of calls) if (!isSettled) throw inUseError(sessionId, fromSqlText(call));
    return touched;
  }

  async *#entriesOf({ sessionId }: SessionHead): AsyncGenerator<EntryRow, void> {
    const { heads, entries } = this.#parts;
    for (let after = 0; ;) {
      heads.refresh();
      const head = heads.find(sessionId);
      const rows = head === undefined ? [] : [...entries.ofSession(head, after, entriesPerCommit)];
      yield* rows;
      if (rows.length < entriesPerCommit) return;
      after = rows.at(-1)?.position ?? after;
      await new Promise(setImmediate);
    }
  }

  #eraseSome(erasure: Erasure, found: readonly Found[]): readonly string[] {
    const { heads, side, artifacts, ids, now } = this.#parts;
    const head = heads.take(erasure.sessionId);
    for (const { position } of found) this.#empty.run(position);
    if (erasure.entryIds === undefined) side.emptyStates(head.session);
    const callIds = new Set(found.flatMap(({ callId }) => callId ?? []));
    const hashes: string[] = [];
    for (const callId of callIds) {
      side.dropSealed(head.session, callId);
      hashes.push(...artifacts.dropCall(head.session, callId));
    }
    const entryIds = found.map(({ entryId }) => entryId);
    this.#append(head, erasureEntry(erasure, entryIds, now(), ids));
    return hashes;
  }

  #drop(removal: Removal, { session, sequence, hash }: SessionHead, touched: Touched): readonly string[] {
    const { heads, side, artifacts, ids, now, ownerId, salt, appender } = this.#parts;
    const { sessionId } = removal;
    const last: Head = { sessionId, sequence, hash };
    const totals = this.#leave(session, sessionId, touched);
    // All of its entries must be in the index before they are removed.
    heads.indexTail();
    this.#dropEntries.run(session);
    this.#dropIndex.run(session);
    side.dropSession(session, sessionId);
    const hashes = artifacts.dropSession(session);
    this.#dropName.run(session);
    this.#countRemoval.run();
    heads.forget();
    heads.refreshNow();
    const entry = { ...removalEntry(removal, last, now(), ids), totals };
    const written = writeEntry(entry, ownerId, salt);
    appender.insert(heads.take(ledgerSessionId), undefined, undefined, written, totals.length);
    side.putTotals(totals, heads.position);
    return hashes;
  }

  /**
   * Frees the keys that the session holds. Returns the totals of shared counters that only an entry of this session
   * states: that entry is removed, so another one must state them.
   */
  #leave(session: number, sessionId: string, { claims, counters }: Touched): readonly CounterTotal[] {
    const { marks, side, entries } = this.#parts;
    const isOurs = (key: string): boolean => {
      const position = marks.find(key);
      return position !== undefined && entries.at(position)?.session === session;
    };
    for (const key of claims) if (isOurs(markOf.claim(key))) marks.drop(markOf.claim(key));
    const prefixes = sessionCounterPrefixes(sessionId);
    return [...counters]
      .filter((name) => !prefixes.some((prefix) => name.startsWith(prefix)))
      .filter((name) => isOurs(markOf.counter(name)))
      .map((counter) => ({ counter, ...side.readCounter(counter) }));
  }

  #append(head: SessionHead, entry: Entry): void {
    const { appender, ownerId, salt } = this.#parts;
    appender.insert(head, undefined, undefined, writeEntry(entry, ownerId, salt));
  }
}

/** Keys and counters that entries of a session mention. */
type Touched = { readonly claims: Set<string>; readonly counters: Set<string> };

/** The parts of the store that retention uses. */
export type RetentionParts = {
  readonly heads: Heads;
  readonly entries: EntryTable;
  readonly side: SideTables;
  readonly appender: Appender;
  readonly artifacts: ArtifactTable;
  readonly marks: Marks;
  readonly writer: Writer;
  readonly ownerId: string;
  readonly ids: Ids;
  readonly salt: () => string;
  readonly now: () => number;
};

const isFinal = (event: { readonly type: string; readonly final?: unknown }): boolean =>
  event.type === 'tool.responded' && event.final === true;
