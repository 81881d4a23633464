/**
 * Where sessions and calls stand.
 *
 * 1. Entries are appended to one table without any index but their positions: keeping indexes by session and by call
 *    up to date costs a page of each for every session that is at work, three times the rest. So the newest entries,
 *    the tail, are indexed here in memory, and now and then the whole tail is written to the index in one go.
 * 2. What is here is true only while nobody else wrote. SQLite says whether somebody did: `PRAGMA data_version`
 *    changes with every commit of another connection and with none of our own. `refresh` asks, and reads what others
 *    appended; it must be called before anything here is believed, and by whoever writes inside the transaction.
 * 3. What is remembered is compared with what is read. Readers therefore read in one snapshot: see `snapshot.ts`.
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
  /** Whether its row says that it has entries; those of the tail are not said there yet. */
  isListed: boolean;
  /** Versions of calls that were appended to or looked up. */
  readonly versions: Map<string, number>;
  /** Whether a call that is not among them does not exist. */
  knowsAll: boolean;
  /** How many of its entries are in the index. */
  indexedEntries: number;
  /** Whether the index of the session was found to be complete. */
  isChecked: boolean;
  /** Where its indexed entries stand, in order, once that was asked for. */
  order: number[] | undefined;
  /** Where entries of the tail stand, by call; those about no call are under null. */
  tail: Map<string | null, number[]>;
};

/** An entry as the index sees it. */
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
/** Versions remembered of one session: a call that is known not to exist need not be looked up. */
const mostVersions = 16_384;
const mostVersionsInAll = 262_144;
/** Positions of entries remembered in their order, of all sessions. */
const mostOrdered = 524_288;
/** In sessions with more rows in the index, they are counted; in others, each is also compared with its entry. */
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
  /** How many positions are remembered in order. */
  #ordered = 0;
  #hasUnsettled: boolean | undefined;
  /** How many sessions are listed, once somebody has asked. */
  #listed: number | undefined;
  #isFresh = false;
  #epoch = 0;
  /** What is wrong with the tail or with where it begins, if anything. */
  #damage: string | undefined;
  #isEndChecked = false;

  /** `longestTail`: entries after which the tail is to be written to the index. */
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

  /** The same, refreshed for a reader. */
  fresh(): this {
    this.refresh();
    return this;
  }

  /**
   * For readers. Asks once for all that is read without a pause in between: nobody can have heard meanwhile of
   * anything that was committed since. All of it is read in one snapshot.
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

  /** For whoever is about to do what SQLite refuses inside a transaction. */
  endSnapshot(): void {
    this.#isFresh = false;
    this.#snapshot.end();
  }

  /** For whoever writes, inside the transaction. Gives whether anybody else has written since the last time. */
  refreshNow(): boolean {
    if (this.#sessions.size > 2 * mostSessions) this.forget();
    const version = this.#dataVersion.get() as number;
    if (version === this.#seen) return false;
    const state = this.#state.get();
    if (state === undefined) throw damagedIndexError('its own row is gone');
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

  /** Changes whenever another process has written, or what was written here was rolled back. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * Whether the entry at which the index ends is in it: entries behind a mark that was moved would be in neither the
   * index nor the tail. One that is gone was dropped with its session, which the entry after it says.
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
   * Whether the index has every entry of the session. A call whose row is gone from it would be taken for a new one,
   * and run again. Asked once, before the index of a session is believed.
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

  /** After a rollback: what was counted on did not happen. */
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

  /** Where the last entry stands. Positions are given once, also where the last entry was removed. */
  get position(): number {
    return this.#position;
  }

  /** Up to where entries are in the index; those after it are the tail. */
  get indexed(): number {
    return this.#indexed;
  }

  /** A session of the tail, or another that happens to be remembered. */
  known(session: number): SessionHead | undefined {
    return this.#sessionsByNumber.get(session);
  }

  /** How many sessions have entries. Their rows are counted once; after that only what changes is. */
  count(): number {
    this.#listed ??= this.#countListed.get() as number;
    let count = this.#listed;
    for (const head of this.#sessionsByNumber.values()) if (!head.isListed && head.sequence > 0) count++;
    return count;
  }

  /** Undefined for a session that nothing was ever kept for. */
  find(sessionId: string): SessionHead | undefined {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const row = this.#byName.get(toSqlText(sessionId));
    return row && this.#remember(row);
  }

  /** The head to append to; makes the session if there is none. */
  take(sessionId: string): SessionHead {
    const known = this.find(sessionId);
    if (known !== undefined) return known;
    const name = toSqlText(sessionId);
    const session = this.#newSession.get(name) as number;
    return this.#remember({ session, name, sequence: 0, hash: null });
  }

  /** Throws where the tail, or where it begins, was changed. To be called before anything is appended. */
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

  /** Where the entries of a call stand, in order. */
  positionsOf(head: SessionHead, callId: string): number[] {
    this.requireSound();
    const known = head.versions.get(callId);
    if (known === 0 || (known === undefined && head.knowsAll)) return [];
    if (known === undefined) this.#check(head);
    const rows = this.#rowsOf.all(head.session, toSqlText(callId), this.#indexed);
    // One question for both: whoever reads a call needs its version too.
    if (known === undefined && head.versions.size < mostVersions)
      this.#setVersion(head, callId, Math.max(0, ...rows.map(({ version }) => version ?? 0)));
    const positions = toPositions(rows.map((row) => row.positions));
    for (const position of head.tail.get(callId) ?? []) positions.push(position);
    return positions;
  }

  /** Where the entries of a session stand after a position, in order, at most so many. */
  positionsIn(head: SessionHead, after: number, limit: number): number[] {
    const positions = toPositions(this.#positionsIn.all(head.session, after, this.#indexed));
    for (const tail of head.tail.values()) for (const position of tail) positions.push(position);
    return positions
      .filter((position) => position > after)
      .sort((left, right) => left - right)
      .slice(0, limit);
  }

  /** Where the entries of a session stand that are about no call, in order. */
  positionsWithoutCall(head: SessionHead): number[] {
    const rows = this.#rowsOf.all(head.session, '', this.#indexed);
    return [...toPositions(rows.map((row) => row.positions)), ...(head.tail.get(null) ?? [])];
  }

  /** Where the last entry of a session before a position stands, if there is one. */
  positionBefore(head: SessionHead, position: number): number | undefined {
    let before = lastBelow(this.#orderOf(head), position) ?? 0;
    if (position > this.#indexed)
      for (const tail of head.tail.values())
        for (const other of tail) if (other < position && other > before) before = other;
    return before === 0 ? undefined : before;
  }

  /** Where the indexed entries of a session stand, in order. Remembered: several calls of a session are often asked about. */
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

  /** An entry was appended to the chain. */
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
      // In the order of the index, so that each of its pages is touched once.
      for (const [callId, positions] of [...head.tail].sort(byCall))
        this.#index.run(
          head.session,
          callId === null ? '' : toSqlText(callId), // no call has an empty name there
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

  /** Almost always false, which spares every call a query. */
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

/** The columns beside a text are not hashed: what the tail is indexed by must be what the text says. */
export function saysWhereItStands(
  { text, call, version }: Pick<TailEntry, 'text' | 'call' | 'version'>,
  sessionId: string,
): boolean {
  try {
    const callId = call === null ? null : fromSqlText(call);
    const stands = `,"session":${JSON.stringify(sessionId)},"call":${JSON.stringify(callId)},"version":`;
    const at = text.indexOf(',"session":');
    // An entry about no call has no version, whatever its text expects.
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
    `The index of the ledger does not agree with its entries (${where}): a call that was made before could seem new and ` +
      'run again. Nothing is run. The file was changed by other means than this program; `quittance verify` says where.',
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

/** The last of ascending numbers that is less than this one. */
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
