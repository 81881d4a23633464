/** One append: its checks and its writes. */
import { chainHash } from '../../ledger/chain.ts';
import { isEmittedEvent } from '../../call/emitted-event.ts';
import type { WrittenEntry } from '../../ledger/formats/v1/write-entry.ts';
import { addTotals } from '../../ledger/formats/v1/write-entry.ts';
import type { AppendResult, Entry } from '../../ledger/journal.ts';
import { clearsUnsettledEffect, leavesUnsettledEffect } from '../../ledger/unsettled-effect.ts';
import type { CursorTable } from './cursor-table.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { Heads } from './heads.ts';
import type { SessionHead } from './session-head.ts';
import type { Marks } from './marks.ts';
import { countMarks, markOf, unfoundedError } from './marks.ts';
import type { SideTables } from './side-tables.ts';
import { toSqlText } from './sql-text.ts';
import type { ChangeWatch } from './change-watch.ts';
import type { WriteJob } from './writer.ts';

/** State shared by the appends of one handle. */
export class Appender {
  readonly heads: Heads;
  readonly side: SideTables;
  readonly cursors: CursorTable;
  readonly #marks: Marks;
  readonly #database: Database;
  /** Prepared by the first append, because a file of an older version that is only read lacks these columns. */
  #insert: Statement<never> | undefined;
  readonly #hashAt: Statement<string>;

  constructor(database: Database, heads: Heads, side: SideTables, marks: Marks, cursors: CursorTable) {
    this.heads = heads;
    this.side = side;
    this.#marks = marks;
    this.cursors = cursors;
    this.#database = database;
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
    if (head.sequence === 0) this.#begin(head);
    const position = this.heads.position + 1;
    const sequence = head.sequence + 1;
    const hash = chainHash(head.hash, sequence, written.text);
    const call = callId === undefined ? null : toSqlText(callId);
    this.#insert ??= prepareRow<never>(
      this.#database,
      'INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#insert.run(
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
    );
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
}

export class AppendJob implements WriteJob {
  readonly entry: Entry;
  readonly #appender: Appender;
  readonly #watch: ChangeWatch;
  readonly #written: WrittenEntry;
  readonly #resolve: (result: AppendResult) => void;
  readonly #reject: (error: unknown) => void;
  result: AppendResult | undefined;
  #position = 0;
  #hash = '';

  constructor(
    appender: Appender,
    watch: ChangeWatch,
    entry: Entry,
    written: WrittenEntry,
    resolve: (result: AppendResult) => void,
    reject: (error: unknown) => void,
  ) {
    this.#appender = appender;
    this.#watch = watch;
    this.entry = entry;
    this.#written = written;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  perform(): void {
    this.result = this.#append();
  }

  isKept(): boolean {
    return this.#position > 0 && this.#appender.hashAt(this.#position) === this.#hash;
  }

  resolve(): void {
    const result = this.result as AppendResult;
    const { callId, sessionId } = this.entry;
    if (callId !== undefined && result.status === 'appended')
      this.#watch.callChanged(sessionId, callId, result.version);
    this.#resolve(result);
  }

  reject(error: unknown): void {
    this.#reject(error);
  }

  #append(): AppendResult {
    const { heads, side, cursors } = this.#appender;
    const { entry } = this;
    const { callId, claim } = entry;
    heads.requireSound();
    const known = heads.find(entry.sessionId);
    let version = 0;
    if (callId !== undefined) {
      version = known === undefined ? 0 : heads.versionOf(known, callId);
      const isRefused = entry.expectedVersion === 'any' ? version === 0 : version !== entry.expectedVersion;
      if (isRefused) return { status: 'conflict', version };
    }
    if (claim !== undefined) {
      const holder = side.readClaim(claim.key);
      if (
        holder !== undefined &&
        !(holder.callId === claim.supersedes?.callId && holder.sessionId === claim.supersedes.sessionId)
      )
        return { status: 'claimed', holder };
    }
    const spent = entry.reserve && side.findSpent(entry.reserve);
    if (spent !== undefined) return spent;
    const moved = entry.moves && side.findMoved(entry.moves, known);
    if (moved !== undefined) return moved;
    const missed = entry.guards && side.findMoved(entry.guards, known);
    if (missed !== undefined) return missed;

    // Applied here and not with the rest, because applying it is how its position is checked.
    const displaced = entry.cursor && cursors.apply(entry.cursor);
    if (displaced !== undefined) return displaced;

    const totals = side.totalsAfter(entry);
    const head = known ?? heads.take(entry.sessionId);
    const isRemark = entry.expectedVersion === 'any';
    if (callId !== undefined && !isRemark) version++;
    this.#appender.insert(
      head,
      callId,
      callId === undefined || isRemark ? undefined : version,
      totals.length === 0 ? this.#written : { ...this.#written, text: addTotals(this.#written.text, totals) },
      countMarks(entry),
    );
    this.#position = heads.position;
    this.#hash = head.hash;
    side.apply(entry, head, totals);
    if (callId !== undefined)
      for (const event of entry.events)
        if (!isEmittedEvent(event) && (leavesUnsettledEffect(event) || clearsUnsettledEffect(event)))
          side.noteEffect(head, event, entry);
    return { status: 'appended', version };
  }
}
