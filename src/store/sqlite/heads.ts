/**
 * The current state of sessions and calls.
 *
 * 1. Entries are appended to one table whose only index is their position. Indexes by session and call
 *    would cost a page of each for every active session, three times the rest. So the newest
 *    entries, the tail, are indexed here in memory. From time to time the whole tail is written to the index at once.
 * 2. This cache is valid until another process writes. SQLite reports that: `PRAGMA data_version` changes with every
 *    commit of another connection and with none of our own. `refresh` checks it and reads what others appended. Call
 *    it before using anything here; a writer calls it inside its transaction.
 * 3. Entries of the writer thread are taken over from its answers (`adopt`), because reading them back is slow. The
 *    file decides whether they were committed.
 * 4. Remembered values are compared with values read. So readers read in one snapshot: see `read-snapshot.ts`.
 */
import { CachedSessions, measuredLimits, type VersionLimits } from './cached-sessions.ts';
import { prepareRow, prepareValue, type Database, type Statement } from './database.ts';
import { damagedIndexError, EntryIndex } from './entry-index.ts';
import type { SessionHead } from './session-head.ts';
import { OwnIndex } from './own-index.ts';
import { ReadSnapshot } from './read-snapshot.ts';
import { fromSqlText } from './sql-text.ts';
import { saysWhereItStands, type IndexedEntry, type TailEntry } from './tail-entry.ts';

type State = { readonly indexed: number; readonly removals: number };

/** Numbers of sessions whose index was complete when it ended at this position. */
export type TrustedSessions = { readonly end: number; readonly sessions: readonly number[] };

/** If more entries were indexed before they were read here, it is quicker to begin anew. */
const mostMissed = 1_024;

export class Heads {
  readonly #dataVersion: Statement<number>;
  readonly #state: Statement<State>;
  readonly #after: Statement<TailEntry>;
  readonly #anyUnsettled: Statement<number>;
  readonly #setHead: Statement<never>;

  readonly #snapshot: ReadSnapshot;
  /** Covers the entries before the tail, and its answers include the tail. */
  readonly index: EntryIndex;
  readonly #longestTail: number;
  readonly #sessions: CachedSessions;
  #seen = -1;
  #removals = -1;
  #position = 0;
  #tailLength = 0;
  #hasUnsettled: boolean | undefined;
  #isFresh = false;
  #isCurrent = false;
  #adoptMore: (() => void) | undefined;
  #epoch = 0;
  /** The problem with the tail or its start, if any. */
  #damage: string | undefined;
  #isEndChecked = false;
  /** End of the index in the file, as last read. */
  #indexedNow = 0;
  readonly ownIndex: OwnIndex = new OwnIndex();
  /** End of the index for which `complete` of the index is true. */
  #trustedEnd = -1;

  /** `longestTail`: number of entries after which the tail is written to the index. */
  constructor(database: Database, longestTail: number, limits: VersionLimits = measuredLimits) {
    this.#longestTail = longestTail;
    this.#sessions = new CachedSessions(database, limits);
    this.#snapshot = new ReadSnapshot(database);
    this.index = new EntryIndex(database);
    this.#dataVersion = prepareValue(database, 'PRAGMA data_version');
    this.#state = prepareRow(database, 'SELECT indexed, removals FROM ledger');
    this.#after = prepareRow(
      database,
      'SELECT position, session, sequence, call, version, text, hash FROM entries WHERE position > ? ORDER BY position',
    );
    this.#anyUnsettled = prepareValue(database, 'SELECT EXISTS (SELECT 1 FROM unsettled)');
    this.#setHead = prepareRow(database, 'UPDATE sessions SET sequence = ?, hash = ? WHERE session = ?');
  }

  /** This object, refreshed for a reader. */
  fresh(): this {
    this.refresh();
    return this;
  }

  /**
   * For readers. Checks once for everything that is read without a pause, because the process cannot learn of a later
   * commit in between. All of it is read in one snapshot.
   */
  refresh(): void {
    if (this.#isFresh) return;
    this.#snapshot.begin();
    try {
      this.refreshNow();
    } catch (error) {
      this.#snapshot.end();
      throw error;
    }
    this.#isFresh = true;
    queueMicrotask(this.#goStale);
  }

  readonly #goStale = (): void => this.endSnapshot();

  /**
   * For readers who need only what is remembered: true if no other connection has committed since it was read. Costs
   * a third of `refresh`, because there is no snapshot.
   */
  get isCurrent(): boolean {
    if (this.#isFresh || this.#isCurrent) return true;
    if (this.#seen < 0 || this.#dataVersion.get() !== this.#seen) return false;
    this.#isCurrent = true;
    queueMicrotask(this.#lookAgain);
    return true;
  }

  readonly #lookAgain = (): void => {
    this.#isCurrent = false;
  };

  /** Is it remembered that the session has no such call? Reads nothing. */
  isKnownAbsent(sessionId: string, callId: string): boolean {
    const head = this.#sessions.knownByName(sessionId);
    if (head === undefined || !this.#isEndChecked || this.#damage !== undefined) return false;
    return (head.versions.get(callId) ?? (head.knowsAll ? 0 : 1)) === 0;
  }

  /** Call before an operation that SQLite forbids inside a transaction. */
  endSnapshot(): void {
    this.#isFresh = false;
    this.#snapshot.end();
  }

  /** For writers, inside the transaction. Returns whether another process has written since the last call. */
  refreshNow(): boolean {
    if (this.#sessions.areTooMany) this.#forgetSessions();
    const version = this.#dataVersion.get() as number;
    if (version === this.#seen) return false;
    const state = this.#state.get();
    if (state === undefined) throw damagedIndexError('its own row is missing');
    const { indexed, removals } = state;
    this.#indexedNow = indexed;
    if (this.index.end >= 0 && removals === this.#removals) {
      this.#adoptMore?.();
      // Reads entries that were indexed before they were read here. Otherwise everything cached would be lost.
      const missed = indexed - this.#position;
      if (missed > 0 && missed <= mostMissed) this.#readTail();
      this.#followIndex(indexed);
    }
    if (indexed !== this.index.end || removals !== this.#removals) {
      this.#clear();
      if (removals !== this.#removals || !this.ownIndex.includes(this.#trustedEnd, indexed))
        this.index.trustNone();
      this.index.end = indexed;
      this.#trustedEnd = indexed;
      this.#removals = removals;
      this.#position = indexed;
      this.#sessions.countAgain();
      this.#damage = undefined;
      this.#isEndChecked = false;
    }
    this.#hasUnsettled = undefined;
    this.#epoch++;
    this.#readTail();
    this.#seen = version;
    return true;
  }

  #readTail(): void {
    for (const entry of this.#after.iterate(this.#position)) {
      const head = this.#sessions.findByNumber(entry.session);
      if (head === undefined) {
        this.#damage ??= `the entry at position ${entry.position}, whose session has no row`;
        this.#position = entry.position;
        continue;
      }
      if (!saysWhereItStands(entry, head.sessionId))
        this.#damage ??= `the entry at position ${entry.position}`;
      // A session whose row was read just now may already be indexed, with this entry.
      if (head.sequence >= entry.sequence && entry.position <= this.#indexedNow)
        this.#position = entry.position;
      else this.note(head, entry);
    }
  }

  /** `adoptMore` is called when another connection has committed, before its entries are read. */
  onCommit(adoptMore: () => void): void {
    this.#adoptMore = adoptMore;
  }

  /** Sessions whose index need not be checked, for `trust` of the other thread. */
  get trusted(): TrustedSessions {
    return { end: this.index.end, sessions: [...this.index.complete] };
  }

  /** Takes over what the other thread of this process knows. It wrote last, unless another process did. */
  trust({ end, sessions }: TrustedSessions): void {
    try {
      this.refresh();
    } catch {
      return; // the next writer reports it
    }
    if (this.index.end === end) this.index.trust(sessions);
  }

  /**
   * Records an entry that the writer thread has committed. Returns false, and records nothing, if others came in
   * between or were read already: `refresh` reads those.
   */
  adopt(
    sessionId: string,
    callId: string | null,
    version: number | null,
    position: number,
    sequence: number,
    hash: string,
  ): boolean {
    if (this.index.end < 0 || position !== this.#position + 1) return false;
    const head = this.find(sessionId);
    if (head === undefined) return false;
    // A session whose row was read just now may already be indexed, with this entry.
    if (head.sequence >= sequence) this.#position = position;
    else this.#note(head, callId, version, position, sequence, hash);
    return true;
  }

  /** Another connection has written the tail to the index, up to this position. */
  #followIndex(indexed: number): void {
    if (indexed <= this.index.end || indexed > this.#position) return;
    const isOurs = this.ownIndex.includes(this.index.end, indexed);
    for (const head of this.#sessions.known()) {
      const followed = head.tail.length === 0 ? 0 : this.index.followTail(head, indexed, isOurs);
      if (followed === 0) continue;
      this.#tailLength -= followed;
      this.#sessions.list(head);
    }
    this.#sessions.countAgain();
    this.index.end = indexed;
    this.#trustedEnd = indexed;
    this.#isEndChecked = false;
    this.#shrink();
  }

  /** Changes when another process has written, or when a write of this process was rolled back. */
  get epoch(): number {
    return this.#epoch;
  }

  /** After a rollback: the remembered writes did not happen. */
  forget(): void {
    this.ownIndex.forget();
    this.index.forget();
    this.#forgetSessions();
  }

  #forgetSessions(): void {
    this.#clear();
    this.#epoch++;
    this.#seen = -1;
    this.index.end = -1;
    this.#sessions.countAgain();
    this.#isFresh = false;
    this.#isCurrent = false;
  }

  #clear(): void {
    this.#sessions.clear();
    this.#tailLength = 0;
    this.index.forgetOrder();
    this.#hasUnsettled = undefined;
  }

  /** Position of the last entry. Positions are never reused, even if the last entry was removed. */
  get position(): number {
    return this.#position;
  }

  /** A session of the tail, or another cached one. */
  known(session: number): SessionHead | undefined {
    return this.#sessions.knownByNumber(session);
  }

  /** Number of sessions with entries. */
  count(): number {
    return this.#sessions.count();
  }

  /** Undefined for a session without any entry so far. */
  find(sessionId: string): SessionHead | undefined {
    return this.#sessions.find(sessionId);
  }

  /** The head to append to; creates the session if there is none. */
  take(sessionId: string): SessionHead {
    return this.#sessions.take(sessionId);
  }

  /** Throws if the tail, or its start, was changed. Call before appending anything. */
  requireSound(): void {
    if (!this.#isEndChecked) {
      this.#isEndChecked = true;
      if (!this.index.hasItsEnd(this.#removals)) this.#damage ??= 'where its index ends';
    }
    if (this.#damage !== undefined) throw damagedIndexError(this.#damage);
  }

  /** 0 for a call that does not exist. */
  versionOf(head: SessionHead, callId: string): number {
    const known = head.versions.get(callId);
    this.requireSound();
    if (known !== undefined) return known;
    if (head.knowsAll) return 0;
    this.index.requireComplete(head);
    const version = this.index.versionOf(head, callId);
    this.#sessions.keepVersion(head, callId, version);
    return version;
  }

  /** Positions of a call's entries, in order. */
  positionsOf(head: SessionHead, callId: string): number[] {
    this.requireSound();
    const known = head.versions.get(callId);
    if (known === 0 || (known === undefined && head.knowsAll)) return [];
    if (known === undefined) this.index.requireComplete(head);
    const { positions, version } = this.index.findCall(head, callId);
    // One query for both: a reader of a call needs its version too.
    if (known === undefined) this.#sessions.keepVersion(head, callId, version);
    return positions;
  }

  /** Every session that has entries, in the order they began. */
  all(): SessionHead[] {
    return this.#sessions.all();
  }

  /** Records an entry that was appended to the chain. */
  note(head: SessionHead, { position, sequence, hash, call, version }: Omit<IndexedEntry, 'session'>): void {
    this.#note(head, call === null ? null : fromSqlText(call), version, position, sequence, hash);
  }

  #note(
    head: SessionHead,
    callId: string | null,
    version: number | null,
    position: number,
    sequence: number,
    hash: string,
  ): void {
    head.sequence = sequence;
    head.hash = hash;
    this.#position = position;
    this.#tailLength++;
    head.tail.add(callId, position);
    if (callId !== null && version !== null) this.#sessions.setVersion(head, callId, version);
  }

  get isTailLong(): boolean {
    return this.#tailLength >= this.#longestTail;
  }

  /** Writes the tail to the index, inside a transaction. */
  indexTail(): void {
    const heads = [...this.#sessions.known()].sort((left, right) => left.session - right.session);
    for (const head of heads) {
      if (head.tail.length === 0) continue;
      this.index.addTail(head, (callId) => this.versionOf(head, callId));
      this.#setHead.run(head.sequence, head.hash, head.session);
      this.#sessions.list(head);
    }
    this.ownIndex.wrote(this.index.end, this.#position);
    this.index.moveEnd(this.#position);
    this.#trustedEnd = this.#position;
    this.#tailLength = 0;
    this.#shrink();
  }

  /** Forgets what the index has, if it is much. That the index of a session is complete need not be counted again. */
  #shrink(): void {
    if (this.#sessions.areMany && this.#tailLength === 0) this.#clear();
    else this.#sessions.shrink();
  }

  /** Almost always false, which saves every call a query. */
  get hasUnsettled(): boolean {
    this.#hasUnsettled ??= this.#anyUnsettled.get() === 1;
    return this.#hasUnsettled;
  }

  /** Is it remembered that no effect is unresolved? Reads nothing. */
  get isKnownSettled(): boolean {
    return this.#hasUnsettled === false;
  }

  set hasUnsettled(value: boolean) {
    this.#hasUnsettled = value;
  }
}
