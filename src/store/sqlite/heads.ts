/**
 * Where sessions and calls stand, remembered so that an append need not look it up.
 *
 * What is remembered is true only while nobody else wrote to the file. SQLite says whether somebody did:
 * `PRAGMA data_version` changes with every commit of another connection and with none of our own. `refresh` asks,
 * and must be called before anything here is believed: inside the transaction by whoever writes.
 */
import { genesisHash } from '../../ledger/chain.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import { toSqlText } from './sql-text.ts';

/** The end of a session's chain. */
export type SessionHead = {
  readonly session: number;
  sequence: number;
  hash: string;
  /** Versions of calls that were looked up or appended. */
  readonly versions: Map<string, number>;
};

const mostSessions = 4_096;
const mostVersions = 4_096;

export class Heads {
  readonly #dataVersion: Statement<number>;
  readonly #lastPosition: Statement<number>;
  readonly #sessionByName: Statement<number>;
  readonly #newSession: Statement<number>;
  readonly #headOf: Statement<{ sequence: number; hash: string }>;
  readonly #versionOf: Statement<number | null>;
  readonly #anyUnsettled: Statement<number>;

  readonly #sessions = new Map<string, SessionHead>();
  #seen = -1;
  #position = -1;
  #hasUnsettled: boolean | undefined;

  constructor(database: Database) {
    this.#dataVersion = prepareValue(database, 'PRAGMA data_version');
    this.#lastPosition = prepareValue(database, 'SELECT coalesce(max(position), 0) FROM entries');
    this.#sessionByName = prepareValue(database, 'SELECT session FROM sessions WHERE name = ?');
    this.#newSession = prepareValue(database, 'INSERT INTO sessions (name) VALUES (?) RETURNING session');
    this.#headOf = prepareRow(
      database,
      'SELECT sequence, hash FROM entries WHERE session = ? ORDER BY sequence DESC LIMIT 1',
    );
    this.#versionOf = prepareValue(
      database,
      'SELECT max(version) FROM entries WHERE session = ? AND call = ?',
    );
    this.#anyUnsettled = prepareValue(database, 'SELECT EXISTS (SELECT 1 FROM unsettled)');
  }

  refresh(): void {
    const version = this.#dataVersion.get() as number;
    if (version === this.#seen) return;
    this.forget();
    this.#seen = version;
  }

  /** After a rollback: what was counted on did not happen. */
  forget(): void {
    this.#sessions.clear();
    this.#position = -1;
    this.#hasUnsettled = undefined;
  }

  get position(): number {
    if (this.#position < 0) this.#position = this.#lastPosition.get() as number;
    return this.#position;
  }

  set position(position: number) {
    this.#position = position;
  }

  /** Undefined for a session that nothing was appended to. */
  find(sessionId: string): SessionHead | undefined {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const session = this.#sessionByName.get(toSqlText(sessionId));
    return session === undefined ? undefined : this.#remember(sessionId, session);
  }

  /** The head to append to; makes the session if there is none. */
  take(sessionId: string): SessionHead {
    return (
      this.find(sessionId) ?? this.#remember(sessionId, this.#newSession.get(toSqlText(sessionId)) as number)
    );
  }

  /** 0 for a call that does not exist. */
  versionOf(head: SessionHead, callId: string): number {
    const known = head.versions.get(callId);
    if (known !== undefined) return known;
    const version = this.#versionOf.get(head.session, toSqlText(callId)) ?? 0;
    this.setVersion(head, callId, version);
    return version;
  }

  setVersion(head: SessionHead, callId: string, version: number): void {
    if (head.versions.size >= mostVersions) head.versions.clear();
    head.versions.set(callId, version);
  }

  /** Almost always false, which spares every call a query. */
  get hasUnsettled(): boolean {
    this.#hasUnsettled ??= this.#anyUnsettled.get() === 1;
    return this.#hasUnsettled;
  }

  set hasUnsettled(value: boolean) {
    this.#hasUnsettled = value;
  }

  #remember(sessionId: string, session: number): SessionHead {
    if (this.#sessions.size >= mostSessions) this.#sessions.clear();
    const last = this.#headOf.get(session);
    const head: SessionHead = {
      session,
      sequence: last?.sequence ?? 0,
      hash: last?.hash ?? genesisHash(sessionId),
      versions: new Map(),
    };
    this.#sessions.set(sessionId, head);
    return head;
  }
}
