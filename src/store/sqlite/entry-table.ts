/** Reads entries back. */
import type { QuittanceEvent } from '../../call/event.ts';
import { chainHash, genesisHash } from '../../ledger/chain.ts';
import { bodiesDigest } from '../../ledger/formats/v1/bodies-digest.ts';
import type { SessionScope, StoredCall } from '../../ledger/journal.ts';
import type { EntryQuery, EntrySize, StoredEntry } from '../../ledger/stored-entry.ts';
import { takesOn } from '../../ledger/takes-on.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { Heads } from './heads.ts';
import type { SessionHead } from './session-head.ts';
import {
  type EntryRow,
  asText,
  nameFor,
  decode,
  disorderError,
  refuseMoved,
  changedError,
  eventsOf,
} from './entry-row.ts';

/** How far back the previous entry of a session is searched: other sessions write in between. */
const farthestLook = 20_000;

/** Up to this number of entries, a session is read by its index; in a longer one the previous entry is close. */
const shortSession = 1_000;

type Link = { readonly hash: string; readonly sequence: number };

const columns = 'SELECT position, session, sequence, call, version, text, bodies, salt, hash FROM entries';

type SizeRow = { readonly position: number; readonly session: number; readonly bytes: number };

/** SQLite knows the length of a value from the row's header: the value itself is not read. */
const sizes =
  'SELECT position, session, octet_length(text) + ifnull(octet_length(bodies), 0) AS bytes FROM entries';

export class EntryTable {
  readonly #heads: Heads;
  readonly #at: Statement<EntryRow>;
  readonly #after: Statement<EntryRow>;
  readonly #about: Statement<EntryRow>;
  readonly #sizeAt: Statement<SizeRow>;
  readonly #sizesAfter: Statement<SizeRow>;
  readonly #before: Statement<Link>;
  readonly #linkAt: Statement<Link>;
  readonly #nameOf: Statement<string>;

  constructor(database: Database, heads: Heads) {
    this.#heads = heads;
    this.#at = prepareRow(database, `${columns} WHERE position = ?`);
    this.#after = prepareRow(database, `${columns} WHERE position > ? ORDER BY position LIMIT ?`);
    this.#about = prepareRow(
      database,
      `${columns} WHERE position > ? AND position <= ? AND (instr(text, ?) > 0 OR instr(text, ?) > 0)
       ORDER BY position LIMIT ?`,
    );
    this.#sizeAt = prepareRow(database, `${sizes} WHERE position = ?`);
    this.#sizesAfter = prepareRow(database, `${sizes} WHERE position > ? ORDER BY position LIMIT ?`);
    this.#before = prepareRow(
      database,
      'SELECT hash, sequence FROM entries WHERE session = ? AND position < ? AND position > ? ORDER BY position DESC LIMIT 1',
    );
    this.#linkAt = prepareRow(
      database,
      'SELECT hash, sequence FROM entries WHERE position = ? AND session = ?',
    );
    this.#nameOf = prepareValue(database, 'SELECT name FROM sessions WHERE session = ?');
  }

  readCall(head: SessionHead, callId: string): StoredCall | undefined {
    const rows = this.ofCall(head, callId);
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
      refuseMoved(row, entry, head, callId);
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
    if (version !== this.#heads.versionOf(head, callId)) throw changedError(head.sessionId, callId);
    const stored: StoredCall = {
      version,
      events,
      ownerId,
      ...(depth > 0 && { depth }),
      ...(claimKey !== undefined && { claimKey }),
    };
    // Not enumerable, so that the value can be cloned and compared as plain data.
    return Object.defineProperty(stored, 'findAlteration', {
      value: (): string | undefined => this.#findAlteration(head, rows, digests),
    });
  }

  /** Checks that each row is the appended one, by its place in the chain and by the digest of its bodies. */
  #findAlteration(
    head: SessionHead,
    rows: readonly EntryRow[],
    digests: readonly (string | undefined)[],
  ): string | undefined {
    for (const [index, row] of rows.entries()) {
      const previous =
        row.sequence === 1
          ? { hash: genesisHash(head.sessionId), sequence: 0 }
          : (this.#linkBefore(head, row) ??
            this.#before.get(row.session, row.position, row.position - farthestLook));
      const isNext = previous !== undefined && previous.sequence === row.sequence - 1;
      if (isNext && chainHash(previous.hash, row.sequence, row.text) !== row.hash)
        return 'a stored entry of the call was changed';
      const isErased = row.bodies === null && row.salt === null;
      if (!isErased && bodiesDigest(row.salt ?? '', row.bodies ?? '') !== digests[index])
        return 'data stored outside an entry of the call was changed';
    }
    return undefined;
  }

  /**
   * The previous entry by the session's index; undefined if the index does not lead to it. The entries of a short
   * session are far apart, so its index finds them sooner.
   */
  #linkBefore(head: SessionHead, row: EntryRow): Link | undefined {
    if (head.sequence > shortSession) return undefined;
    const position = this.#heads.index.positionBefore(head, row.position);
    const link = position === undefined ? undefined : this.#linkAt.get(position, row.session);
    return link?.sequence === row.sequence - 1 ? link : undefined;
  }

  measureCall(head: SessionHead, callId: string): number {
    let bytes = 0;
    for (const position of this.#heads.positionsOf(head, callId))
      bytes += this.#sizeAt.get(position)?.bytes ?? 0;
    return bytes;
  }

  measure({ after = 0, limit }: EntryQuery, head: SessionHead | undefined): EntrySize[] {
    const rows =
      head === undefined
        ? this.#sizesAfter.all(after, limit)
        : this.#heads.index
            .positionsIn(head, after, limit)
            .flatMap((position) => this.#sizeAt.get(position) ?? []);
    const nameOf = this.#createNameOf(head);
    return rows.map(({ position, session, bytes }) => ({ position, sessionId: nameOf(session), bytes }));
  }

  readSession(head: SessionHead, scope: SessionScope): QuittanceEvent[] {
    const events: QuittanceEvent[] = [];
    for (const row of scope === 'all' ? this.ofSession(head) : this.#withoutCall(head))
      for (const event of eventsOf(row)) events.push(event);
    return events;
  }

  *#withoutCall(head: SessionHead): Generator<EntryRow, void> {
    for (const position of this.#heads.index.positionsWithoutCall(head)) {
      const row = this.#at.get(position);
      if (row !== undefined) yield row;
    }
  }

  /** Entries in stored form: of one session, or of all. */
  read({ after = 0, limit, about }: EntryQuery, head: SessionHead | undefined): StoredEntry[] {
    const rows =
      head !== undefined
        ? [...this.ofSession(head, after, limit)]
        : about === undefined
          ? this.after(after, limit)
          : this.#about.all(after, about.until, ...about.texts, limit);
    const nameOf = this.#createNameOf(head);
    return rows.map(({ position, session, sequence, text, bodies, salt, hash }) => ({
      position,
      sessionId: nameOf(session, text),
      // Anyone with the file can change it. A value of the wrong type is useless here, and verification reports it.
      sequence: typeof sequence === 'number' ? sequence : Number.NaN,
      text: asText(text),
      bodies: bodies === null ? undefined : asText(bodies),
      salt: salt === null ? undefined : asText(salt),
      hash: asText(hash),
    }));
  }

  /** The names of sessions, each read once. `text`: the entry, which names its session if no row does. */
  #createNameOf(head: SessionHead | undefined): (session: number, text?: string) => string {
    const names = new Map<number, string>();
    return (session, text = '') => {
      const known = head?.sessionId ?? names.get(session);
      if (known !== undefined) return known;
      const sessionId = nameFor(session, this.#nameOf.get(session), text);
      names.set(session, sessionId);
      return sessionId;
    };
  }

  /** Throws if an entry of the call is missing: the rest could look as if its body had never begun. */
  ofCall(head: SessionHead, callId: string): EntryRow[] {
    return this.#heads.positionsOf(head, callId).map((position) => {
      const row = this.#at.get(position);
      if (row === undefined) throw changedError(head.sessionId, callId);
      return row;
    });
  }

  *ofSession(
    head: SessionHead,
    after = 0,
    limit: number = Number.MAX_SAFE_INTEGER,
  ): Generator<EntryRow, void> {
    for (const position of this.#heads.index.positionsIn(head, after, limit)) {
      const row = this.#at.get(position);
      if (row !== undefined) yield row;
    }
  }

  at(position: number): EntryRow | undefined {
    return this.#at.get(position);
  }

  /** Throws if positions do not ascend, as on damaged pages: a reader would loop forever. */
  after(position: number, limit: number): EntryRow[] {
    const rows = this.#after.all(position, limit);
    let before = position;
    for (const row of rows) {
      if (!(row.position > before)) throw disorderError(before);
      before = row.position;
    }
    return rows;
  }
}
