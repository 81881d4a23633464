/** The sessions that `Heads` remembers, with the versions of their calls. What the tail has is in no other place. */
import { prepareRow, prepareValue, type Database, type Statement } from './database.ts';
import { toHead, type SessionHead, type SessionRow } from './session-head.ts';
import { toSqlText } from './sql-text.ts';

const mostSessions = 4_096;
/** Versions cached per session, and in all: a call known not to exist need not be looked up. */
export type VersionLimits = { readonly ofSession: number; readonly inAll: number };
export const measuredLimits: VersionLimits = { ofSession: 16_384, inAll: 262_144 };

export class CachedSessions {
  readonly #byName: Statement<SessionRow>;
  readonly #byNumber: Statement<SessionRow>;
  readonly #newSession: Statement<number>;
  readonly #allHeads: Statement<SessionRow>;
  readonly #countListed: Statement<number>;

  readonly #limits: VersionLimits;
  readonly #heads = new Map<string, SessionHead>();
  readonly #headsByNumber = new Map<number, SessionHead>();
  #versions = 0;
  /** Number of listed sessions, once requested. */
  #listed: number | undefined;

  constructor(database: Database, limits: VersionLimits) {
    this.#limits = limits;
    const session = 'SELECT session, name, sequence, hash FROM sessions';
    this.#byName = prepareRow(database, `${session} WHERE name = ?`);
    this.#byNumber = prepareRow(database, `${session} WHERE session = ?`);
    this.#allHeads = prepareRow(database, `${session} WHERE sequence > 0`);
    this.#countListed = prepareValue(database, 'SELECT count(*) FROM sessions WHERE sequence > 0');
    this.#newSession = prepareValue(database, 'INSERT INTO sessions (name) VALUES (?) RETURNING session');
  }

  /** More than are kept. Those that the index has can be forgotten. */
  get areMany(): boolean {
    return this.#heads.size > mostSessions;
  }

  /** Far more than are kept: it is quicker to begin anew. */
  get areTooMany(): boolean {
    return this.#heads.size > 2 * mostSessions;
  }

  /** The remembered sessions, those of the tail among them. */
  known(): IterableIterator<SessionHead> {
    return this.#headsByNumber.values();
  }

  knownByNumber(session: number): SessionHead | undefined {
    return this.#headsByNumber.get(session);
  }

  knownByName(sessionId: string): SessionHead | undefined {
    return this.#heads.get(sessionId);
  }

  /** Undefined for a session without any entry so far. */
  find(sessionId: string): SessionHead | undefined {
    const known = this.#heads.get(sessionId);
    if (known !== undefined) return known;
    const row = this.#byName.get(toSqlText(sessionId));
    return row && this.#remember(row);
  }

  /** Undefined if no row has this number. */
  findByNumber(session: number): SessionHead | undefined {
    const known = this.#headsByNumber.get(session);
    if (known !== undefined) return known;
    const row = this.#byNumber.get(session);
    return row && this.#remember(row);
  }

  /** The session; creates it if there is none. */
  take(sessionId: string): SessionHead {
    const known = this.find(sessionId);
    if (known !== undefined) return known;
    const name = toSqlText(sessionId);
    const session = this.#newSession.get(name) as number;
    return this.#remember({ session, name, sequence: 0, hash: null });
  }

  /** Every session that has entries, in the order they began. */
  all(): SessionHead[] {
    const found = new Map<number, SessionHead>();
    for (const row of this.#allHeads.all()) found.set(row.session, toHead(row));
    for (const head of this.known()) if (head.sequence > 0) found.set(head.session, head);
    return [...found.values()].sort((left, right) => left.session - right.session);
  }

  /** Number of sessions with entries. Counted once and then updated. */
  count(): number {
    this.#listed ??= this.#countListed.get() as number;
    let count = this.#listed;
    for (const head of this.known()) if (!head.isListed && head.sequence > 0) count++;
    return count;
  }

  /** Another connection has changed how many there are. */
  countAgain(): void {
    this.#listed = undefined;
  }

  setVersion(head: SessionHead, callId: string, version: number): void {
    const { size } = head.versions;
    head.versions.set(callId, version);
    this.#versions += head.versions.size - size;
  }

  /** A version that was read from the index, if there is room. */
  keepVersion(head: SessionHead, callId: string, version: number): void {
    if (head.versions.size < this.#limits.ofSession) this.setVersion(head, callId, version);
  }

  /** The row of the session says that it has entries. Its long list of versions can be read from the index. */
  list(head: SessionHead): void {
    if (!head.isListed) {
      head.isListed = true;
      if (this.#listed !== undefined) this.#listed++;
    }
    if (head.versions.size > this.#limits.ofSession) this.#forgetVersions(head);
  }

  /** Forgets versions that the index has, if there are many. */
  shrink(): void {
    if (this.#versions > this.#limits.inAll) for (const head of this.known()) this.#forgetVersions(head);
  }

  clear(): void {
    this.#heads.clear();
    this.#headsByNumber.clear();
    this.#versions = 0;
  }

  /** The index has the versions of its calls. Those of calls in the tail are nowhere else. */
  #forgetVersions(head: SessionHead): void {
    const { versions } = head;
    this.#versions -= versions.size;
    head.versions = new Map();
    head.knowsAll &&= versions.size === 0;
    for (const callId of head.tail.callIds()) {
      const version = versions.get(callId);
      if (version !== undefined) this.setVersion(head, callId, version);
    }
  }

  #remember(row: SessionRow): SessionHead {
    const head = toHead(row);
    this.#heads.set(head.sessionId, head);
    this.#headsByNumber.set(head.session, head);
    return head;
  }
}
