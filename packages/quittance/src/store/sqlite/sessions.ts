/**
 * The sessions of a ledger file: their numbers, and how their chains end.
 *
 * 1. The row of a session states how many entries it has, and the hash of the last one. It changes in the commit of
 *    each entry. So an entry that another program removed or moved shows: the row says more than there is.
 * 2. `requireWhole` compares both before a call of the session is appended to or looks new. It does so once, and again
 *    after another process has written.
 * 3. What the writer remembers here is valid until another process writes, or a transaction is rolled back.
 */
import { QuittanceError } from '../../base/error.ts';
import { genesisHash } from '../../ledger/chain.ts';
import { saysWhereItBelongs } from '../../ledger/formats/v1/read-entry.ts';
import type { Database } from './database.ts';
import { fromSqlText, toSqlText } from './database.ts';

/** A session, and the end of its chain. */
export type Session = {
  readonly session: number;
  readonly sessionId: string;
  sequence: number;
  hash: string;
};

type SessionRow = {
  readonly session: number;
  readonly name: string;
  readonly sequence: number;
  readonly hash: string | null;
};

/** Up to this number of entries, each is compared with its text. In longer sessions they are counted. */
const mostCompared = 1_024;
/** Sessions that are remembered, and those that were found whole. */
const mostKnown = 8_192;
const mostWhole = 65_536;

export class Sessions {
  readonly #sql: Database;
  readonly #known = new Map<string, Session>();
  /** Numbers of the sessions that were found whole. */
  readonly #whole = new Set<number>();
  /** Sessions with entries of this transaction, whose rows are not written yet. */
  readonly #grown = new Set<Session>();

  constructor(sql: Database) {
    this.#sql = sql;
  }

  /** As the file says now; undefined for a session without a row. */
  read(sessionId: string): Session | undefined {
    const row = this.#sql
      .row<SessionRow>('SELECT session, name, sequence, hash FROM sessions WHERE name = ?')
      .get(toSqlText(sessionId));
    return row && toSession(row);
  }

  /** For the writer: as remembered, or as the file says. */
  find(sessionId: string): Session | undefined {
    const known = this.#known.get(sessionId);
    if (known !== undefined) return known;
    const session = this.read(sessionId);
    if (session !== undefined) this.#known.set(sessionId, session);
    return session;
  }

  /** The session; creates it if there is none. */
  take(sessionId: string): Session {
    const known = this.find(sessionId);
    if (known !== undefined) return known;
    const number = this.#sql.value<number>('INSERT INTO sessions (name) VALUES (?) RETURNING session');
    const session = {
      session: number.get(toSqlText(sessionId)) as number, // the statement returns a row
      sessionId,
      sequence: 0,
      hash: genesisHash(sessionId),
    };
    this.#known.set(sessionId, session);
    return session;
  }

  /** An entry was appended to the chain. */
  grow(session: Session, sequence: number, hash: string): void {
    session.sequence = sequence;
    session.hash = hash;
    // It was found whole before, or it is new.
    if (sequence === 1) this.#whole.add(session.session);
    this.#grown.add(session);
  }

  /** Writes the rows of the sessions that have grown. Call before the commit. */
  flush(): void {
    for (const { session, sequence, hash } of this.#grown)
      this.#sql.run('UPDATE sessions SET sequence = ?, hash = ? WHERE session = ?', sequence, hash, session);
    this.#grown.clear();
    if (this.#known.size > mostKnown) this.#known.clear();
    if (this.#whole.size > mostWhole) this.#whole.clear();
  }

  /** The transaction was rolled back, or rows were changed directly. */
  forget(): void {
    this.#known.clear();
    this.#grown.clear();
  }

  /** Another process has written: it may have changed any entry. */
  forgetAll(): void {
    this.forget();
    this.#whole.clear();
  }

  /**
   * Throws unless the session has each of its entries. A call whose entry is missing would look new and run again.
   */
  requireWhole(session: Session): void {
    if (this.#whole.has(session.session) || session.sequence === 0) return;
    const isWhole = session.sequence <= mostCompared ? this.#isSound(session) : this.#isComplete(session);
    if (!isWhole) throw incompleteError(session.sessionId);
    this.#whole.add(session.session);
  }

  #isSound({ session, sessionId, sequence, hash }: Session): boolean {
    type Row = PlacedText & { readonly sequence: number; readonly hash: string };
    const rows = this.#sql.row<Row>(
      'SELECT sequence, call, version, text, hash FROM entries WHERE session = ? ORDER BY position LIMIT ?',
    );
    let count = 0;
    let last: string | undefined;
    // One more than there should be.
    for (const row of rows.iterate(session, sequence + 1)) {
      if (row.sequence !== ++count || !saysWhereItStands(row, sessionId)) return false;
      last = row.hash;
    }
    return count === sequence && last === hash;
  }

  #isComplete({ session, sequence, hash }: Session): boolean {
    const count = this.#sql.value<number>('SELECT count(*) FROM entries WHERE session = ?');
    const last = this.#sql.row<{ readonly sequence: number; readonly hash: string }>(
      'SELECT sequence, hash FROM entries WHERE session = ? ORDER BY position DESC LIMIT 1',
    );
    const end = last.get(session);
    return count.get(session) === sequence && end?.sequence === sequence && end.hash === hash;
  }
}

function toSession({ session, name, sequence, hash }: SessionRow): Session {
  const sessionId = fromSqlText(name);
  return { session, sessionId, sequence, hash: hash ?? genesisHash(sessionId) };
}

/** What an entry says, and the columns next to it that say where it belongs. */
export type PlacedText = {
  readonly text: string;
  readonly call: string | null;
  readonly version: number | null;
};

/** The columns next to a text are not hashed: the text itself must say that it belongs there. */
export function saysWhereItStands({ text, call, version }: PlacedText, sessionId: string): boolean {
  try {
    return saysWhereItBelongs(text, sessionId, call === null ? null : fromSqlText(call), version);
  } catch {
    return false; // not a text, or not a name that was written
  }
}

const incompleteError = (sessionId: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `Entries of session ${JSON.stringify(sessionId)} are missing, or are not where they were appended: an earlier ` +
      'call could look new and run again. Nothing is run. Another program changed the file; run ' +
      '`quittance verify` to see where.',
    { sessionId },
  );
