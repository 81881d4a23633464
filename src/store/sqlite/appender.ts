/** Appends entries inside a transaction: their checks and their writes. */
import type { WrittenEntry } from '../../ledger/formats/v1/write-entry.ts';
import { addTotals, finishEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { AppendResult } from '../../ledger/journal.ts';
import { TextHasher } from '../../ledger/text-hasher.ts';
import type { CursorTable } from './cursor-table.ts';
import type { Database, Statement } from './database.ts';
import { prepareValue } from './database.ts';
import type { Heads } from './heads.ts';
import type { SessionHead } from './session-head.ts';
import type { Marks } from './marks.ts';
import { markOf, unfoundedError } from './marks.ts';
import { RowInserts } from './row-inserts.ts';
import type { SideTables } from './side-tables.ts';
import { toSqlText } from './sql-text.ts';
import type { AppendAnswer, AppendOrder } from './write-order.ts';

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
];

/** State shared by the appends of one handle. */
export class Appender {
  readonly heads: Heads;
  readonly side: SideTables;
  readonly cursors: CursorTable;
  readonly #marks: Marks;
  readonly #inserts: RowInserts<NewEntryRow>;
  readonly #hasher = new TextHasher();
  readonly #hashAt: Statement<string>;

  constructor(database: Database, heads: Heads, side: SideTables, marks: Marks, cursors: CursorTable) {
    this.heads = heads;
    this.side = side;
    this.#marks = marks;
    this.cursors = cursors;
    this.#inserts = new RowInserts(database, 'entries', 10);
    this.#hashAt = prepareValue(database, 'SELECT hash FROM entries WHERE position = ?');
  }

  /** Appends an entry to its session's chain. `marks`: number of marks that its text implies. */
  insert(
    head: SessionHead,
    callId: string | undefined,
    version: number | undefined,
    written: WrittenEntry,
    marks = 0,
  ): void {
    this.#add(head, callId, version, written, marks);
    this.#inserts.flush();
  }

  /** Writes entries that wait. Call before anything else reads them, and before the commit. */
  flush(): void {
    this.#inserts.flush();
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#inserts.forget();
  }

  #add(
    head: SessionHead,
    callId: string | undefined,
    version: number | undefined,
    written: WrittenEntry,
    marks: number,
  ): void {
    if (head.sequence === 0) this.#begin(head);
    const position = this.heads.position + 1;
    const sequence = head.sequence + 1;
    const hash = this.#hasher.chainHash(head.hash, sequence, written.text);
    const call = callId === undefined ? null : toSqlText(callId);
    this.#inserts.add([
      position,
      head.session,
      sequence,
      call,
      version ?? null,
      written.text,
      written.bodies ?? null,
      written.salt ?? null,
      hash,
      marks === 0 ? null : marks,
    ]);
    this.heads.note(head, { position, sequence, call, version: version ?? null, hash });
  }

  /**
   * Begins a session that seems new. Throws if the chain already has one of this name: then its row was removed or
   * emptied.
   */
  #begin({ sessionId }: SessionHead): void {
    const key = markOf.session(sessionId);
    if (this.#marks.find(key) !== undefined) throw unfoundedError(`session ${JSON.stringify(sessionId)}`);
    this.#marks.put(key, this.heads.position + 1);
  }

  hashAt(position: number): string | undefined {
    return this.#hashAt.get(position);
  }

  /** Call inside a transaction. Checks the conditions of an append, and writes it unless one is not met. */
  append(order: AppendOrder): AppendAnswer {
    const { heads, side, cursors } = this;
    const { sessionId, callId, expectedVersion, draft, extras } = order;
    heads.requireSound();
    const known = heads.find(sessionId);
    let version = 0;
    if (callId !== undefined) {
      version = known === undefined ? 0 : heads.versionOf(known, callId);
      const isRefused = expectedVersion === 'any' ? version === 0 : version !== expectedVersion;
      if (isRefused) return refused({ status: 'conflict', version });
    }
    const isRemark = expectedVersion === 'any';
    if (callId !== undefined && !isRemark) version++;
    const entryVersion = callId === undefined || isRemark ? undefined : version;
    if (extras === undefined) {
      const head = known ?? heads.take(sessionId);
      this.#add(head, callId, entryVersion, finishEntry(draft, this.#digestOf), 0);
      return this.#appended(head, version);
    }

    this.#inserts.flush();
    const { claim } = extras;
    if (claim !== undefined) {
      const holder = side.readClaim(claim.key);
      if (
        holder !== undefined &&
        !(holder.callId === claim.supersedes?.callId && holder.sessionId === claim.supersedes.sessionId)
      )
        return refused({ status: 'claimed', holder });
    }
    const problem =
      (extras.reserve && side.findSpent(extras.reserve)) ??
      (extras.moves && side.findMoved(extras.moves, known)) ??
      (extras.guards && side.findMoved(extras.guards, known)) ??
      // Applied here and not with the rest, because applying it is how its position is checked.
      (extras.cursor && cursors.apply(extras.cursor));
    if (problem !== undefined) return refused(problem);

    const totals = side.totalsAfter(extras);
    const head = known ?? heads.take(sessionId);
    const written = finishEntry(draft, this.#digestOf);
    const text = addTotals(written.text, totals);
    this.insert(head, callId, entryVersion, { ...written, text }, extras.marks);
    const answer = this.#appended(head, version);
    side.apply(order, extras, head, totals);
    if (extras.effects !== undefined) for (const effect of extras.effects) side.noteEffect(head, effect);
    return answer;
  }

  readonly #digestOf = (salt: string, bodies: string): string => this.#hasher.bodiesDigest(salt, bodies);

  #appended({ sequence, hash }: SessionHead, version: number): AppendAnswer {
    const { position } = this.heads;
    return {
      type: 'append',
      result: { status: 'appended', version },
      stored: { position, sequence, hash },
    };
  }
}

const refused = (result: AppendResult): AppendAnswer => ({ type: 'append', result, stored: undefined });
