/** Appends entries inside a transaction: their checks and their writes. */
import type { WrittenEntry } from '../../ledger/formats/v1/write-entry.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { addTotals, finishEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { AppendResult } from '../../ledger/journal.ts';
import { TextHasher } from '../../ledger/prepare-entry.ts';
import type { CallLists } from './call-lists.ts';
import type { CursorTable } from './cursor-table.ts';
import type { Database } from './database.ts';
import { toSqlText, RowInserts } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import type { Marks } from './marks.ts';
import { markOf, unfoundedError } from './marks.ts';
import type { Session, Sessions } from './sessions.ts';
import type { SideTables } from './side-tables.ts';
import type { AppendOrder } from './write-order.ts';
import { readExtras } from './write-order.ts';

/** A row of `entries`, in the order of its columns. */
type NewEntryRow = readonly [
  position: number,
  session: number,
  sequence: number,
  call: string | null,
  version: number | null,
  text: string,
  bodies: string | null,
  salt: string | null,
  hash: string,
  marks: number | null,
  /** Never set: see the schema. */
  listed: null,
];

/** Where an entry was stored. */
export type StoredPlace = { readonly position: number; readonly hash: string };

/** Versions that are remembered. */
const mostVersions = 8_192;

type AppenderParts = {
  readonly database: Database;
  readonly sessions: Sessions;
  readonly entries: EntryTable;
  readonly side: SideTables;
  readonly marks: Marks;
  readonly cursors: CursorTable;
  readonly lists: CallLists;
};

export class Appender {
  readonly #parts: AppenderParts;
  readonly #inserts: RowInserts<NewEntryRow>;
  readonly #hasher = new TextHasher();
  /**
   * Versions of the calls that were appended to last: their rows may wait to be inserted, and almost every call has a
   * second entry soon.
   */
  readonly #versions = new Map<string, number>();
  #position = -1;

  constructor(parts: AppenderParts) {
    this.#parts = parts;
    this.#inserts = new RowInserts(parts.database, 'entries', 11);
  }

  /** The position of the last entry. */
  get position(): number {
    if (this.#position < 0) this.#position = this.#parts.entries.lastPosition();
    return this.#position;
  }

  /** Appends an entry to its session's chain. `marks`: number of marks that its text implies. */
  insert(
    session: Session,
    callId: string | undefined,
    version: number | undefined,
    written: WrittenEntry,
    marks = 0,
  ): void {
    this.#add(session, callId, version, written, marks);
    this.#inserts.flush();
  }

  /** Writes entries that wait. Call before anything else reads them, and before the commit. */
  flush(): void {
    this.#inserts.flush();
  }

  /** The transaction was committed: no row waits. */
  end(): void {
    if (this.#versions.size > mostVersions) this.#versions.clear();
  }

  /** The transaction was rolled back, or another process has written. */
  forget(): void {
    this.#inserts.forget();
    this.#versions.clear();
    this.#position = -1;
  }

  #add(
    session: Session,
    callId: string | undefined,
    version: number | undefined,
    written: WrittenEntry,
    marks: number,
  ): void {
    const { sessions, lists } = this.#parts;
    const position = this.position + 1;
    if (session.sequence === 0) this.#begin(session, position);
    const sequence = session.sequence + 1;
    const hash = this.#hasher.chainHash(session.hash, sequence, written.text);
    const { text, bodies = null, salt = null } = written;
    lists.note(session, position, readEntry(written), text.length + (bodies?.length ?? 0));
    this.#inserts.add([
      position,
      session.session,
      sequence,
      callId === undefined ? null : toSqlText(callId),
      version ?? null,
      text,
      bodies,
      salt,
      hash,
      marks === 0 ? null : marks,
      null,
    ]);
    this.#position = position;
    sessions.grow(session, sequence, hash);
    if (callId !== undefined && version !== undefined) this.#versions.set(keyOf(session, callId), version);
  }

  /**
   * Begins a session that seems new. Throws if the chain already has one of this name: then its row was removed or
   * emptied.
   */
  #begin({ sessionId }: Session, position: number): void {
    const { marks } = this.#parts;
    const key = markOf.session(sessionId);
    if (marks.find(key) !== undefined) throw unfoundedError(`session ${JSON.stringify(sessionId)}`);
    marks.put(key, position);
  }

  #versionOf(session: Session, callId: string): number {
    return this.#versions.get(keyOf(session, callId)) ?? this.#parts.entries.versionOf(session, callId);
  }

  /**
   * Call inside a transaction. Checks the conditions of an append, and writes it unless one is not met. `stored` takes
   * the place of the entry.
   */
  append(order: AppendOrder, stored: (place: StoredPlace) => void): AppendResult {
    const { sessions, side, cursors } = this.#parts;
    const { sessionId, callId, expectedVersion, draft } = order;
    const known = sessions.find(sessionId);
    if (known !== undefined) sessions.requireWhole(known);
    let version = 0;
    if (callId !== undefined) {
      version = known === undefined ? 0 : this.#versionOf(known, callId);
      const isRefused = expectedVersion === 'any' ? version === 0 : version !== expectedVersion;
      if (isRefused) return { status: 'conflict', version };
    }
    const isRemark = expectedVersion === 'any';
    if (callId !== undefined && !isRemark) version++;
    const entryVersion = callId === undefined || isRemark ? undefined : version;
    const extras = readExtras(order);
    if (extras === undefined) {
      const session = known ?? sessions.take(sessionId);
      this.#add(session, callId, entryVersion, finishEntry(draft, this.#digestOf), 0);
      stored({ position: this.position, hash: session.hash });
      return { status: 'appended', version };
    }

    this.#inserts.flush();
    const { claim } = extras;
    if (claim !== undefined) {
      const holder = side.readClaim(claim.key);
      if (
        holder !== undefined &&
        !(holder.callId === claim.supersedes?.callId && holder.sessionId === claim.supersedes.sessionId)
      )
        return { status: 'claimed', holder };
    }
    const problem =
      (extras.reserve && side.findSpent(extras.reserve)) ??
      (extras.moves && side.findMoved(extras.moves, known)) ??
      (extras.guards && side.findMoved(extras.guards, known)) ??
      // Applied here and not with the rest, because applying it is how its position is checked.
      (extras.cursor && cursors.move(extras.cursor));
    if (problem !== undefined) return problem;

    const totals = side.totalsAfter(extras);
    const session = known ?? sessions.take(sessionId);
    const written = finishEntry(draft, this.#digestOf);
    const text = addTotals(written.text, totals);
    this.insert(session, callId, entryVersion, { ...written, text }, extras.marks);
    const { position } = this;
    stored({ position, hash: session.hash });
    side.apply(order, extras, session, totals, position);
    for (const effect of extras.effects ?? []) side.noteEffect(session, effect, position);
    return { status: 'appended', version };
  }

  readonly #digestOf = (salt: string, bodies: string): string => this.#hasher.bodiesDigest(salt, bodies);
}

const keyOf = ({ session }: Session, callId: string): string => `${session}/${callId}`;
