/** Reads entries back: of a call, of a session, or of all. */
import { QuittanceError } from '../../base/error.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import { chainHash, genesisHash, bodiesDigest } from '../../ledger/chain.ts';
import { takesOn } from '../../ledger/fold-stored.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { SessionScope, StoredCall } from '../../ledger/journal.ts';
import { lastInputDigest } from '../../ledger/prepare-entry.ts';
import { asText } from '../../ledger/stored-entry.ts';
import type { EntryQuery, EntrySize, StoredEntry } from '../../ledger/stored-entry.ts';
import { fromSqlText, toSqlText } from './database.ts';
import type { Session } from './sessions.ts';
import type { Statements } from './statements.ts';

type WrittenRow = { readonly text: string; readonly bodies: string | null };

/** An entry as stored in its table. */
export type EntryRow = WrittenRow & {
  readonly position: number;
  readonly session: number;
  readonly sequence: number;
  readonly call: string | null;
  readonly version: number | null;
  readonly salt: string | null;
  readonly hash: string;
};

/** What a call requested: the tool, and the digest of the input that the gates accepted. */
export type AskedFor = { readonly toolName: string; readonly inputDigest: string };

const columns = 'SELECT position, session, sequence, call, version, text, bodies, salt, hash FROM entries';

/** The plus keeps SQLite from reading the whole session, which the other index has in the order of positions. */
export const entriesOfCall: string = `${columns} WHERE session = ? AND call = ? ORDER BY +position`;

type SizeRow = { readonly position: number; readonly session: number; readonly bytes: number };

/** SQLite knows the length of a value from the row's header: the value itself is not read. */
const bytesSql = 'octet_length(text) + ifnull(octet_length(bodies), 0)';
const sizes = `SELECT position, session, ${bytesSql} AS bytes FROM entries`;

export class EntryTable {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** The version of a call; 0 for a call that does not exist. */
  versionOf({ session }: Session, callId: string): number {
    const version = this.#sql.value<number | null>(
      'SELECT max(version) FROM entries WHERE session = ? AND call = ?',
    );
    return version.get(session, toSqlText(callId)) ?? 0;
  }

  /** The position of the last entry; 0 if there is none. Positions are never used again. */
  lastPosition(): number {
    return this.#sql.value<number>('SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;
  }

  hashAt(position: number): string | undefined {
    return this.#sql.value<string>('SELECT hash FROM entries WHERE position = ?').get(position);
  }

  readCall(session: Session, callId: string): StoredCall | undefined {
    const rows = this.ofCall(session, callId);
    if (rows.length === 0) return undefined;
    let version = 0;
    let ownerId = '';
    let depth = 0;
    let claimKey: string | undefined;
    const events: QuittanceEvent[] = [];
    const digests: (string | undefined)[] = [];
    for (const row of rows) {
      const entry = decode(row);
      digests.push(entry.bodiesDigest);
      refuseMoved(row, entry, session, callId);
      if (row === rows[0]) depth = entry.depth;
      claimKey = entry.claim?.key ?? claimKey;
      // Remarks do not change the owner: a process that makes one does not own the call.
      if (row.version !== null) {
        version = row.version;
        if (takesOn(entry.events as readonly QuittanceEvent[])) ownerId = entry.ownerId;
      }
      for (const event of entry.events as readonly QuittanceEvent[])
        if ('callId' in event && event.callId === callId) events.push(event);
    }
    const stored: StoredCall = {
      version,
      events,
      ownerId,
      ...(depth > 0 && { depth }),
      ...(claimKey !== undefined && { claimKey }),
    };
    // Not enumerable, so that the value can be cloned and compared as plain data.
    return Object.defineProperty(stored, 'findAlteration', {
      value: (): string | undefined => this.#findAlteration(session, rows, digests),
    });
  }

  /** What a call requested, according to its entries. */
  askedFor(session: Session, callId: string): AskedFor | undefined {
    const events = this.readCall(session, callId)?.events ?? [];
    const toolName = events.find((event) => event.type === 'tool.requested')?.toolName;
    const inputDigest = lastInputDigest(events, callId);
    return toolName === undefined || inputDigest === undefined ? undefined : { toolName, inputDigest };
  }

  /** Checks that each row is the appended one, by its place in the chain and by the digest of its bodies. */
  #findAlteration(
    { sessionId }: Session,
    rows: readonly EntryRow[],
    digests: readonly (string | undefined)[],
  ): string | undefined {
    const before = this.#sql.row<{ readonly hash: string; readonly sequence: number }>(
      'SELECT hash, sequence FROM entries WHERE session = ? AND position < ? ORDER BY position DESC LIMIT 1',
    );
    for (const [index, row] of rows.entries()) {
      const previous =
        row.sequence === 1
          ? { hash: genesisHash(sessionId), sequence: 0 }
          : before.get(row.session, row.position);
      const isNext = previous !== undefined && previous.sequence === row.sequence - 1;
      if (isNext && chainHash(previous.hash, row.sequence, row.text) !== row.hash)
        return 'a stored entry of the call was changed';
      const isErased = row.bodies === null && row.salt === null;
      if (!isErased && bodiesDigest(row.salt ?? '', row.bodies ?? '') !== digests[index])
        return 'data stored outside an entry of the call was changed';
    }
    return undefined;
  }

  measureCall({ session }: Session, callId: string): number {
    const bytes = this.#sql.value<number>(
      `SELECT coalesce(sum(${bytesSql}), 0) FROM entries WHERE session = ? AND call = ?`,
    );
    return bytes.get(session, toSqlText(callId)) ?? 0;
  }

  measure({ after = 0, limit }: EntryQuery, session: Session | undefined): EntrySize[] {
    const rows =
      session === undefined
        ? this.#sql.row<SizeRow>(`${sizes} WHERE position > ? ORDER BY position LIMIT ?`).all(after, limit)
        : this.#sql
            .row<SizeRow>(`${sizes} WHERE session = ? AND position > ? ORDER BY position LIMIT ?`)
            .all(session.session, after, limit);
    const nameOf = this.#createNameOf(session);
    return rows.map((row) => ({
      position: row.position,
      sessionId: nameOf(row.session),
      bytes: row.bytes,
    }));
  }

  readSession(session: Session, scope: SessionScope): QuittanceEvent[] {
    const which = scope === 'all' ? '' : 'AND call IS NULL';
    const rows = this.#sql.row<EntryRow>(`${columns} WHERE session = ? ${which} ORDER BY position`);
    const events: QuittanceEvent[] = [];
    // Events of unknown types are returned as they are: code that folds events skips them.
    for (const row of rows.iterate(session.session))
      for (const event of decode(row).events) events.push(event as QuittanceEvent);
    return events;
  }

  /** Entries in stored form: of one session, or of all. */
  read({ after = 0, limit, about }: EntryQuery, session: Session | undefined): StoredEntry[] {
    const rows =
      session !== undefined
        ? this.ofSession(session, after, limit)
        : about === undefined
          ? this.after(after, limit)
          : this.#sql
              .row<EntryRow>(
                `${columns} WHERE position > ? AND position <= ? AND (instr(text, ?) > 0 OR instr(text, ?) > 0)
                 ORDER BY position LIMIT ?`,
              )
              .all(after, about.until, ...about.texts, limit);
    const nameOf = this.#createNameOf(session);
    return rows.map((row) => ({
      position: row.position,
      sessionId: nameOf(row.session, row.text),
      // Anyone with the file can change it. A value of the wrong type is useless here, and verification reports it.
      sequence: typeof row.sequence === 'number' ? row.sequence : Number.NaN,
      text: asText(row.text),
      bodies: row.bodies === null ? undefined : asText(row.bodies),
      salt: row.salt === null ? undefined : asText(row.salt),
      hash: asText(row.hash),
    }));
  }

  /** The names of sessions, each read once. `text`: the entry, which names its session if no row does. */
  #createNameOf(asked: Session | undefined): (session: number, text?: string) => string {
    const names = new Map<number, string>();
    const find = this.#sql.value<string>('SELECT name FROM sessions WHERE session = ?');
    return (session, text = '') => {
      const known = asked?.sessionId ?? names.get(session);
      if (known !== undefined) return known;
      const sessionId = nameFor(session, find.get(session), text);
      names.set(session, sessionId);
      return sessionId;
    };
  }

  /** Throws if an entry of the call is missing: the rest could look as if its body had never begun. */
  ofCall({ session, sessionId }: Session, callId: string): EntryRow[] {
    const rows = this.#sql.row<EntryRow>(entriesOfCall).all(session, toSqlText(callId));
    let version = 0;
    for (const row of rows)
      if (row.version !== null && row.version !== ++version) throw changedError(sessionId, callId);
    if (rows.length > 0 && version === 0) throw changedError(sessionId, callId);
    return rows;
  }

  ofSession({ session }: Session, after = 0, limit = -1): EntryRow[] {
    return this.#sql
      .row<EntryRow>(`${columns} WHERE session = ? AND position > ? ORDER BY position LIMIT ?`)
      .all(session, after, limit);
  }

  at(position: number): EntryRow | undefined {
    return this.#sql.row<EntryRow>(`${columns} WHERE position = ?`).get(position);
  }

  /** Throws if positions do not ascend, as on damaged pages: a reader would loop forever. */
  after(position: number, limit: number): EntryRow[] {
    const rows = this.#sql
      .row<EntryRow>(`${columns} WHERE position > ? ORDER BY position LIMIT ?`)
      .all(position, limit);
    let before = position;
    for (const row of rows) {
      if (!(row.position > before)) throw disorderError(before);
      before = row.position;
    }
    return rows;
  }
}

/** The name of a session. If its row is missing, the name comes from its entry. */
function nameFor(session: number, name: string | undefined, text: string): string {
  try {
    return name === undefined ? decode({ text, bodies: null }).sessionId : fromSqlText(name);
  } catch {
    return `#${String(session)}`;
  }
}

export const decode = ({ text, bodies }: WrittenRow): ReadEntry =>
  readEntry({ text, bodies: bodies ?? undefined });

export const disorderError = (position: number): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The entries after position ${position} are out of order: pages of the file are damaged. Restore a ` +
      'backup.',
  );

/** The columns next to a text are not hashed: the text itself must say that it belongs to the call. */
function refuseMoved(row: EntryRow, entry: ReadEntry, { sessionId }: Session, callId: string): void {
  const version = entry.expectedVersion === 'any' ? null : entry.expectedVersion + 1;
  if (entry.sessionId !== sessionId || entry.callId !== callId || row.version !== version)
    throw changedError(sessionId, callId);
}

const changedError = (sessionId: string, callId: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `Entries of call ${JSON.stringify(callId)} in session ${JSON.stringify(sessionId)} were moved, ` +
      'changed or removed by another program, so the call is not run. Run `quittance verify` to see ' +
      'where.',
    { sessionId, callId },
  );
