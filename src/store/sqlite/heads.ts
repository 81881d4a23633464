/**
 * The current state of sessions and calls.
 *
 * 1. Entries are appended to one table whose only index is their position. Indexes by session and call
 *    would cost a page of each for every active session, three times the rest. So the newest
 *    entries, the tail, are indexed here in memory. From time to time the whole tail is written to the index at once.
 * 2. This cache is valid until another process writes. SQLite reports that: `PRAGMA data_version` changes with every
 *    commit of another connection and with none of our own. `refresh` checks it and reads what others appended. Call
 *    it before using anything here; a writer calls it inside its transaction.
 * 3. Remembered values are compared with values read. So readers read in one snapshot: see `snapshot.ts`.
 */
import { QuittanceError } from '../../base/error.ts';
import { genesisHash } from '../../ledger/chain.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import { ReadSnapshot } from './read-snapshot.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';

/** The end of a session's chain. */
export type SessionHead = {
  readonly session: number;
  readonly sessionId: string;
  sequence: number;
  hash: string;
  /** Does its row say that it has entries? Entries in the tail are not counted there yet. */
  isListed: boolean;
  /** Versions of calls that were appended to or looked up. */
  readonly versions: Map<string, number>;
  /** Does a call that is not among them not exist? */
  knowsAll: boolean;
  /** Number of its entries in the index. */
  indexedEntries: number;
  /** Has the index of the session been checked for completeness? */
  isChecked: boolean;
  /** Positions of its indexed entries in order, once requested. */
  order: number[] | undefined;
  /** Positions of entries in the tail, by call; null for entries without a call. */
  tail: Map<string | null, number[]>;
};

/** An entry as stored in the index. */
export type IndexedEntry = {
  readonly position: number;
  readonly session: number;
  readonly sequence: number;
  readonly call: string | null;
  readonly version: number | null;
  readonly hash: string;
};
type TailEntry = IndexedEntry & { readonly text: string };

type State = { readonly indexed: number; readonly removals: number };
export type SessionRow = {
  readonly session: number;
  readonly name: string;
  readonly sequence: number;
  readonly hash: string | null;
};

const mostSessions = 4_096;
/** Versions cached per session: a call known not to exist need not be looked up. */
const mostVersions = 16_384;
const mostVersionsInAll = 262_144;
/** Ordered positions cached for all sessions together. */
const mostOrdered = 524_288;
/** In sessions with more index rows, the rows are counted; in others, each is also compared with its entry. */
const mostCompared = 1_024;

export class Heads {
  readonly #dataVersion: Statement<number>;
  readonly #state: Statement<State>;
  readonly #after: Statement<TailEntry>;
  readonly #entryAt: Statement<{ session: number; call: string | null }>;
  readonly #isEntryAfter: Statement<number>;
  readonly #countIndex: Statement<{ rows: number; entries: number | null; bad: number | null }>;
  readonly #findStray: Statement<number>;
  readonly #positionsAround: Statement<string>;
  readonly #byName: Statement<SessionRow>;
  readonly #byNumber: Statement<SessionRow>;
  readonly #newSession: Statement<number>;
  readonly #versionOf: Statement<number | null>;
  readonly #rowsOf: Statement<{ readonly positions: string; readonly version: number | null }>;
  readonly #positionsIn: Statement<string>;
  readonly #allHeads: Statement<SessionRow>;
  readonly #countListed: Statement<number>;
  readonly #anyUnsettled: Statement<number>;
  readonly #index: Statement<never>;
  readonly #setHead: Statement<never>;
  readonly #setIndexed: Statement<never>;

  readonly #snapshot: ReadSnapshot;
  readonly #longestTail: number;
  readonly #sessions = new Map<string, SessionHead>();
  readonly #sessionsByNumber = new Map<number, SessionHead>();
  #seen = -1;
  #indexed = -1;
  #removals = -1;
  #position = 0;
  #tailLength = 0;
  #versions = 0;
  /** Number of ordered positions cached. */
  #ordered = 0;
  #hasUnsettled: boolean | undefined;
  /** Number of listed sessions, once requested. */
  #listed: number | undefined;
  #isFresh = false;
  #epoch = 0;
  /** The problem with the tail or its start, if any. */
  #damage: string | undefined;
  #isEndChecked = false;

  /** `longestTail`: number of entries after which the tail is written to the index. */
  constructor(database: Database, longestTail: number) {
    this.#longestTail = longestTail;
    this.#snapshot = new ReadSnapshot(database);
    this.#dataVersion = prepareValue(database, 'PRAGMA data_version');
    this.#state = prepareRow(database, 'SELECT indexed, removals FROM ledger');
    this.#after = prepareRow(
      database,
      'SELECT position, session, sequence, call, version, text, hash FROM entries WHERE position > ? ORDER BY position',
    );
    this.#entryAt = prepareRow(database, 'SELECT session, call FROM entries WHERE position = ?');
    this.#isEntryAfter = prepareValue(database, 'SELECT EXISTS (SELECT 1 FROM entries WHERE position > ?)');
    this.#countIndex = prepareRow(
      database,
      `SELECT count(*) AS rows, sum(length(positions) - length(replace(positions, ',', '')) + 1) AS entries,
         sum(call <> '' AND coalesce(version, 0) < 1) AS bad
       FROM entry_index WHERE session = ?`,
    );
    this.#findStray = prepareValue(
      database,
      `SELECT EXISTS (SELECT 1 FROM entry_index AS i LEFT JOIN entries AS e ON e.position = i.first
         WHERE i.session = ? AND (e.session IS NOT i.session OR coalesce(e.call, '') <> i.call))`,
    );
    this.#positionsAround = prepareValue(
      database,
      'SELECT positions FROM entry_index WHERE session = ? AND call = ? AND first <= ? AND last >= ?',
    );
    const session = 'SELECT session, name, sequence, hash FROM sessions';
    this.#byName = prepareRow(database, `${session} WHERE name = ?`);
    this.#byNumber = prepareRow(database, `${session} WHERE session = ?`);
    this.#allHeads = prepareRow(database, `${session} WHERE sequence > 0`);
    this.#countListed = prepareValue(database, 'SELECT count(*) FROM sessions WHERE sequence > 0');
    this.#newSession = prepareValue(database, 'INSERT INTO sessions (name) VALUES (?) RETURNING session');
    const ofCall = 'FROM entry_index WHERE session = ? AND call = ?';
    this.#versionOf = prepareValue(database, `SELECT max(version) ${ofCall}`);
    this.#rowsOf = prepareRow(database, `SELECT positions, version ${ofCall} AND first <= ? ORDER BY first`);
    this.#positionsIn = prepareValue(
      database,
      'SELECT positions FROM entry_index WHERE session = ? AND last > ? AND first <= ?',
    );
    this.#anyUnsettled = prepareValue(database, 'SELECT EXISTS (SELECT 1 FROM unsettled)');
    this.#index = prepareRow(database, 'INSERT INTO entry_index VALUES (?, ?, ?, ?, ?, ?)');
    this.#setHead = prepareRow(database, 'UPDATE sessions SET sequence = ?, hash = ? WHERE session = ?');
    this.#setIndexed = prepareRow(database, 'UPDATE ledger SET indexed = ?');
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

  /** Call before an operation that SQLite forbids inside a transaction. */
  endSnapshot(): void {
    this.#isFresh = false;
    this.#snapshot.end();
  }

  /** For writers, inside the transaction. Returns whether another process has written since the last call. */
  refreshNow(): boolean {
    if (this.#sessions.size > 2 * mostSessions) this.forget();
    const version = this.#dataVersion.get() as number;
    if (version === this.#seen) return false;
    const state = this.#state.get();
    if (state === undefined) throw damagedIndexError('its own row is missing');
    const { indexed, removals } = state;
    if (indexed !== this.#indexed || removals !== this.#removals) {
      this.#clear();
      this.#indexed = indexed;
      this.#removals = removals;
      this.#position = indexed;
      this.#listed = undefined;
      this.#damage = undefined;
      this.#isEndChecked = false;
    }
    this.#hasUnsettled = undefined;
    this.#epoch++;
    for (const entry of this.#after.iterate(this.#position)) {
      const head = this.#headOf(entry.session);
      if (head === undefined) {
        this.#damage ??= `the entry at position ${entry.position}, whose session has no row`;
        this.#position = entry.position;
        continue;
      }
      if (!saysWhereItStands(entry, head.sessionId))
        this.#damage ??= `the entry at position ${entry.position}`;
      this.note(head, entry);
    }
    this.#seen = version;
    return true;
  }

  /** Changes when another process has written, or when a write of this process was rolled back. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * Is the entry at which the index ends in it? If the end was moved, some entries would be in neither the index nor
   * the tail. If that entry is gone, it was dropped with its session, and the next entry says so.
   */
  #isIndexed(indexed: number, removals: number): boolean {
    if (indexed <= 0) return indexed === 0;
    const entry = this.#entryAt.get(indexed);
    if (entry === undefined) return removals > 0 && this.#isEntryAfter.get(indexed) === 1;
    return this.#positionsAround
      .all(entry.session, entry.call ?? '', indexed, indexed)
      .some((positions) => positions.split(',').includes(String(indexed)));
  }

  /**
   * Does the index have every entry of the session? A call whose index row is missing would look new and run again.
   * Checked once, before the index of a session is used.
   */
  #check(head: SessionHead): void {
    if (head.isChecked) return;
    const { rows, entries, bad } = this.#countIndex.get(head.session) ?? { rows: 0, entries: 0, bad: 0 };
    const isWhole =
      (entries ?? 0) === head.indexedEntries &&
      (bad ?? 0) === 0 &&
      (rows > mostCompared || this.#findStray.get(head.session) === 0);
    if (!isWhole) throw damagedIndexError(`session ${JSON.stringify(head.sessionId)}`);
    head.isChecked = true;
  }

  /** After a rollback: the remembered writes did not happen. */
  forget(): void {
    this.#clear();
    this.#epoch++;
    this.#seen = -1;
    this.#indexed = -1;
    this.#listed = undefined;
    this.#isFresh = false;
  }

  #clear(): void {
    this.#sessions.clear();
    this.#sessionsByNumber.clear();
    this.#tailLength = 0;
    this.#versions = 0;
    this.#ordered = 0;
    this.#hasUnsettled = undefined;
  }

  /** Position of the last entry. Positions are never reused, even if the last entry was removed. */
  get position(): number {
    return this.#position;
  }

  /** Entries up to this position are in the index; later ones are the tail. */
  get indexed(): number {
    return this.#indexed;
  }

  /** A session of the tail, or another cached one. */
  known(session: number): SessionHead | undefined {
    return this.#sessionsByNumber.get(session);
  }

  /** Number of sessions with entries. Counted once and then updated. */
  count(): number {
    this.#listed ??= this.#countListed.get() as number;
    let count = this.#listed;
    for (const head of this.#sessionsByNumber.values()) if (!head.isListed && head.sequence > 0) count++;
    return count;
  }

  /** Undefined for a session without any entry so far. */
  find(sessionId: string): SessionHead | undefined {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const row = this.#byName.get(toSqlText(sessionId));
    return row && this.#remember(row);
  }

  /** The head to append to; creates the session if there is none. */
  take(sessionId: string): SessionHead {
    const known = this.find(sessionId);
    if (known !== undefined) return known;
    const name = toSqlText(sessionId);
    const session = this.#newSession.get(name) as number;
    return this.#remember({ session, name, sequence: 0, hash: null });
  }

  /** Throws if the tail, or its start, was changed. Call before appending anything. */
  requireSound(): void {
    if (!this.#isEndChecked) {
      this.#isEndChecked = true;
      if (!this.#isIndexed(this.#indexed, this.#removals)) this.#damage ??= 'where its index ends';
    }
    if (this.#damage !== undefined) throw damagedIndexError(this.#damage);
  }

  /** 0 for a call that does not exist. */
  versionOf(head: SessionHead, callId: string): number {
    const known = head.versions.get(callId);
    this.requireSound();
    if (known !== undefined) return known;
    if (head.knowsAll) return 0;
    this.#check(head);
    const version = this.#versionOf.get(head.session, toSqlText(callId)) ?? 0;
    if (head.versions.size < mostVersions) this.#setVersion(head, callId, version);
    return version;
  }

  #setVersion(head: SessionHead, callId: string, version: number): void {
    const { size } = head.versions;
    head.versions.set(callId, version);
    this.#versions += head.versions.size - size;
  }

  /** Positions of a call's entries, in order. */
  positionsOf(head: SessionHead, callId: string): number[] {
    this.requireSound();
    const known = head.versions.get(callId);
    if (known === 0 || (known === undefined && head.knowsAll)) return [];
    if (known === undefined) this.#check(head);
    const rows = this.#rowsOf.all(head.session, toSqlText(callId), this.#indexed);
    // One query for both: a reader of a call needs its version too.
    if (known === undefined && head.versions.size < mostVersions)
      this.#setVersion(head, callId, Math.max(0, ...rows.map(({ version }) => version ?? 0)));
    const positions = toPositions(rows.map((row) => row.positions));
    for (const position of head.tail.get(callId) ?? []) positions.push(position);
    return positions;
  }

  /** Positions of a session's entries after a position, in order, up to a limit. */
  positionsIn(head: SessionHead, after: number, limit: number): number[] {
    const positions = toPositions(this.#positionsIn.all(head.session, after, this.#indexed));
    for (const tail of head.tail.values()) for (const position of tail) positions.push(position);
    return positions
      .filter((position) => position > after)
      .sort((left, right) => left - right)
      .slice(0, limit);
  }

  /** Positions of a session's entries without a call, in order. */
  positionsWithoutCall(head: SessionHead): number[] {
    const rows = this.#rowsOf.all(head.session, '', this.#indexed);
    return [...toPositions(rows.map((row) => row.positions)), ...(head.tail.get(null) ?? [])];
  }

  /** Position of the session's last entry before a position, if there is one. */
  positionBefore(head: SessionHead, position: number): number | undefined {
    let before = lastBelow(this.#orderOf(head), position) ?? 0;
    if (position > this.#indexed)
      for (const tail of head.tail.values())
        for (const other of tail) if (other < position && other > before) before = other;
    return before === 0 ? undefined : before;
  }

  /**
   * Positions of a session's indexed entries, in order. Cached, because several calls of a session are often read.
   */
  #orderOf(head: SessionHead): readonly number[] {
    if (head.order !== undefined) return head.order;
    const order = toPositions(this.#positionsIn.all(head.session, 0, this.#indexed)).sort(
      (left, right) => left - right,
    );
    if (this.#ordered + order.length <= mostOrdered) {
      head.order = order;
      this.#ordered += order.length;
    }
    return order;
  }

  /** Every session that has entries, in the order they began. */
  all(): SessionHead[] {
    const found = new Map<number, SessionHead>();
    for (const row of this.#allHeads.all()) found.set(row.session, toHead(row));
    for (const head of this.#sessionsByNumber.values()) if (head.sequence > 0) found.set(head.session, head);
    return [...found.values()].sort((left, right) => left.session - right.session);
  }

  /** Records an entry that was appended to the chain. */
  note(head: SessionHead, { position, sequence, hash, call, version }: Omit<IndexedEntry, 'session'>): void {
    head.sequence = sequence;
    head.hash = hash;
    this.#position = position;
    this.#tailLength++;
    const callId = call === null ? null : fromSqlText(call);
    const tail = head.tail.get(callId);
    if (tail === undefined) head.tail.set(callId, [position]);
    else tail.push(position);
    if (callId !== null && version !== null) this.#setVersion(head, callId, version);
  }

  get isTailLong(): boolean {
    return this.#tailLength >= this.#longestTail;
  }

  /** Writes the tail to the index, inside a transaction. */
  indexTail(): void {
    const heads = [...this.#sessionsByNumber.values()].sort((left, right) => left.session - right.session);
    for (const head of heads) {
      if (head.tail.size === 0) continue;
      // In index order, so that each index page is touched once.
      for (const [callId, positions] of [...head.tail].sort(byCall))
        this.#index.run(
          head.session,
          callId === null ? '' : toSqlText(callId), // stored call names are never empty
          positions[0] as number,
          positions.at(-1) as number,
          positions.join(),
          callId === null ? null : this.versionOf(head, callId),
        );
      this.#setHead.run(head.sequence, head.hash, head.session);
      const { order } = head;
      this.#ordered -= order?.length ?? 0;
      for (const positions of head.tail.values()) {
        head.indexedEntries += positions.length;
        order?.push(...positions);
      }
      order?.sort((left, right) => left - right);
      this.#ordered += order?.length ?? 0;
      head.tail = new Map();
      if (!head.isListed) {
        head.isListed = true;
        if (this.#listed !== undefined) this.#listed++;
      }
      if (head.versions.size > mostVersions) {
        this.#versions -= head.versions.size;
        head.versions.clear();
        head.knowsAll = false;
      }
    }
    this.#setIndexed.run(this.#position);
    this.#indexed = this.#position;
    this.#tailLength = 0;
    if (this.#sessions.size > mostSessions || this.#versions > mostVersionsInAll) this.#clear();
  }

  /** Almost always false, which saves every call a query. */
  get hasUnsettled(): boolean {
    this.#hasUnsettled ??= this.#anyUnsettled.get() === 1;
    return this.#hasUnsettled;
  }

  set hasUnsettled(value: boolean) {
    this.#hasUnsettled = value;
  }

  #headOf(session: number): SessionHead | undefined {
    const known = this.#sessionsByNumber.get(session);
    if (known !== undefined) return known;
    const row = this.#byNumber.get(session);
    return row && this.#remember(row);
  }

  #remember(row: SessionRow): SessionHead {
    const head = toHead(row);
    this.#sessions.set(head.sessionId, head);
    this.#sessionsByNumber.set(head.session, head);
    return head;
  }
}

/** The columns next to a text are not hashed: the tail must be indexed by what the text says. */
export function saysWhereItStands(
  { text, call, version }: Pick<TailEntry, 'text' | 'call' | 'version'>,
  sessionId: string,
): boolean {
  try {
    const callId = call === null ? null : fromSqlText(call);
    const stands = `,"session":${JSON.stringify(sessionId)},"call":${JSON.stringify(callId)},"version":`;
    const at = text.indexOf(',"session":');
    // An entry without a call has no version, whatever its text expects.
    if (callId === null) return version === null && text.startsWith(stands, at);
    const expected = version === null ? '"any"' : String(version - 1);
    return text.startsWith(`${stands}${expected},"owner":`, at);
  } catch {
    return false; // not a text, or not a name that was written
  }
}

const damagedIndexError = (where: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The index of the ledger does not agree with its entries (${where}): an earlier call could look ` +
      'new and run again. Nothing is run. Another program changed the file; run `quittance verify` to ' +
      'see where.',
  );

export function toHead({ session, name, sequence, hash }: SessionRow): SessionHead {
  const sessionId = fromSqlText(name);
  return {
    session,
    sessionId,
    sequence,
    hash: hash ?? genesisHash(sessionId),
    isListed: sequence > 0,
    versions: new Map(),
    knowsAll: sequence === 0,
    indexedEntries: sequence,
    isChecked: false,
    order: undefined,
    tail: new Map(),
  };
}

const byCall = ([left]: [string | null, unknown], [right]: [string | null, unknown]): number =>
  (left ?? '') < (right ?? '') ? -1 : 1;

/** The last of ascending numbers below the limit. */
function lastBelow(ascending: readonly number[], limit: number): number | undefined {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? limit) < limit) low = middle + 1;
    else high = middle;
  }
  return ascending[low - 1];
}

const toPositions = (lists: readonly string[]): number[] =>
  lists.flatMap((list) => list.split(',').map(Number));
