/**
 * Fills the read tables from the entries of the ledger, in order of position, in steps of one commit each.
 *
 * 1. A row depends only on the entries up to the progress. The tables come out the same however the entries are split
 *    into steps, and whichever process takes them.
 * 2. A step and its progress are one commit. Several processes may take steps, one at a time.
 * 3. A step is long, because calls that begin and end in it are written once and each index page is touched once. But
 *    it yields every few milliseconds.
 * 4. Calls that take the usual course are read without decoding their entries: see `PlainCall`. Those that are open
 *    at the end of a step are carried to the next one, so that it need not read them again.
 */
import type { QuittanceEvent } from '../../call/event.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { SessionTally } from '../../ledger/session-tally.ts';
import { countCall, countEvent, newSessionTally } from '../../ledger/session-tally.ts';
import { asDamage, unfillableError } from './as-damage.ts';
import type { DecodedRow, Tally } from './call-rows.ts';
import { CallRows } from './call-rows.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import type { EntryRow } from './entry-row.ts';
import { decode } from './entry-row.ts';
import type { Heads } from './heads.ts';
import { toSqlText } from './sql-text.ts';
import type { PlainCall, PlainStatus } from '../../ledger/plain-call.ts';
import { beginPlainCall, continuePlainCall, countPlainEvents } from '../../ledger/plain-call.ts';
import { TallyCounts, tallyTriggers } from './tally-table.ts';
import { WordTable } from './word-table.ts';

type Progress = { readonly position: number; readonly hash: string };
/** The data read in one step. */
type Step = {
  /** New entries of calls that did not take the usual course. */
  readonly calls: Map<string, DecodedRow[]>;
  /** Open calls that took the usual course so far. */
  readonly plain: Map<string, PlainCall<EntryRow>>;
  readonly sessions: Map<number, SessionTally>;
  /** Entries without a call, which may be about the ledger itself. */
  readonly loose: EntryRow[];
  last: EntryRow | undefined;
};

const readTables = ['calls', 'audit', 'confirmations', 'sessions'] as const;
/** The commit of a step blocks its thread, so steps of the main thread are short. */
const entriesPerStep = 2_048;
/** In a separate thread they are long, because a call whose entries are in two steps is written twice. */
export const entriesPerLongStep = 8_192;
/** Open calls that are carried to the next step. */
const mostCarried = 4_096;
/** A step that has read this much text ends early, because all of it is in memory at once. */
const charsPerStep = 16_777_216;
const entriesPerSlice = 128;
/** Events after which words must leave the file. */
const removals = ['"body.erased"', '"session.dropped"'];
const callsPerSlice = 64;

export class Projection {
  readonly #entries: EntryTable;
  readonly #heads: Heads;
  readonly #tables: Database;
  readonly #rows: CallRows;
  readonly #counts: TallyCounts;
  #carried: { readonly progress: Progress; readonly plain: Map<string, PlainCall<EntryRow>> } | undefined;
  readonly #perStep: number;
  readonly #hashAt: Statement<string>;
  readonly #end: Statement<number>;
  readonly #progress: Statement<Progress>;
  readonly #setProgress: Statement<never>;
  readonly #putSession: Statement<never>;
  readonly #sessionByName: Statement<number>;
  readonly #sessionsByName: Statement<number>;
  readonly #dropSession: readonly Statement<never>[];
  readonly #dropRows: readonly Statement<never>[];
  readonly #words: WordTable;

  constructor(
    ledger: Database,
    entries: EntryTable,
    heads: Heads,
    tables: Database,
    perStep: number = entriesPerStep,
  ) {
    this.#perStep = perStep;
    this.#entries = entries;
    this.#heads = heads;
    this.#tables = tables;
    this.#counts = new TallyCounts(tables);
    this.#rows = new CallRows(tables, this.#counts);
    this.#hashAt = prepareValue(ledger, 'SELECT hash FROM entries WHERE position = ?');
    this.#end = prepareValue(ledger, 'SELECT coalesce(max(position), 0) FROM entries');
    this.#progress = prepareRow(tables, 'SELECT position, hash FROM progress');
    this.#setProgress = prepareRow(tables, 'UPDATE progress SET position = ?, hash = ?');
    this.#putSession = prepareRow(
      tables,
      `INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET
         calls = calls + excluded.calls, open_calls = open_calls + excluded.open_calls,
         failures = failures + excluded.failures, denials = denials + excluded.denials,
         unresolved = unresolved + excluded.unresolved,
         first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)`,
    );
    this.#sessionByName = prepareValue(ledger, 'SELECT session FROM sessions WHERE name = ?');
    this.#sessionsByName = prepareValue(tables, 'SELECT session FROM sessions WHERE session_id = ?');
    this.#dropSession = readTables.map((table) =>
      prepareRow(tables, `DELETE FROM ${table} WHERE session = ?`),
    );
    this.#dropRows = readTables.map((table) => prepareRow(tables, `DELETE FROM ${table}`));
    this.#words = new WordTable(tables);
  }

  /** Position of the last entry. */
  get end(): number {
    return this.#end.get() as number;
  }

  /** The position that the tables have reached, by whichever process. */
  get position(): number {
    return (this.#progress.get() as Progress).position;
  }

  /** How many positions the tables are behind. */
  get lag(): number {
    return this.end - this.position;
  }

  /** Do the tables cover all entries up to a position? */
  reaches(target: number): boolean {
    const { position, hash } = this.#progress.get() as Progress;
    return position >= target && this.#stands(position, hash);
  }

  /** Takes one step. Throws while another process takes one. `isOver` ends it early, with nothing done. */
  async step(isOver: () => boolean): Promise<void> {
    this.#tables.exec('BEGIN IMMEDIATE');
    try {
      const { position, hash } = this.#progress.get() as Progress;
      if (!this.#stands(position, hash)) this.#clear();
      const from = this.#progress.get() as Progress;
      const step = await this.#read(from, isOver);
      if (step !== undefined && (await this.#write(step, isOver))) {
        this.#tables.exec('COMMIT');
        this.#carry(step);
      }
      const now = this.#progress.get() as Progress;
      // Otherwise the process that fills the tables would restart forever.
      if (!isOver() && !this.#stands(now.position, now.hash)) throw unfillableError(now.position);
    } finally {
      if (this.#tables.open && this.#tables.inTransaction) this.#tables.exec('ROLLBACK');
      if (this.#tables.open) this.#tables.pragma('secure_delete = OFF');
    }
  }

  /** Empties the tables, so that they are filled from the start. */
  reset(): void {
    this.#tables.exec('BEGIN IMMEDIATE');
    this.#clear();
    this.#tables.exec('COMMIT');
  }

  /**
   * False if the ledger was restored to an earlier state, or is a different one. If an entry is missing but later
   * ones exist, it was dropped with its session.
   */
  #stands(position: number, hash: string): boolean {
    return position <= this.end && (this.#hashAt.get(position) ?? hash) === hash;
  }

  #clear(): void {
    this.#tables.exec(tallyTriggers.drop);
    for (const drop of this.#dropRows) drop.run();
    this.#tables.exec(`DELETE FROM tallies; ${tallyTriggers.create}`);
    this.#words.clear();
    this.#setProgress.run(0, '');
  }

  async #read(from: Progress, isOver: () => boolean): Promise<Step | undefined> {
    const plain = this.#takeCarried(from);
    const step: Step = { calls: new Map(), plain, sessions: new Map(), loose: [], last: undefined };
    this.#counts.clear();
    let chars = 0;
    for (let read = 0; read < this.#perStep && chars < charsPerStep; read += entriesPerSlice) {
      if (read > 0) await new Promise(setImmediate);
      if (isOver()) return undefined;
      const rows = this.#entries.after(step.last?.position ?? from.position, entriesPerSlice);
      for (const row of rows) {
        this.#take(step, row);
        chars += row.text.length + (row.bodies?.length ?? 0);
      }
      if (rows.length < entriesPerSlice) break;
    }
    return step;
  }

  /** The calls that the last step left open, if no other process has taken a step since. */
  #takeCarried({ position, hash }: Progress): Map<string, PlainCall<EntryRow>> {
    const carried = this.#carried;
    this.#carried = undefined;
    return carried?.progress.position === position && carried.progress.hash === hash
      ? carried.plain
      : new Map<string, PlainCall<EntryRow>>();
  }

  /** Open calls can be neither erased nor removed, so what was read of them stays true. */
  #carry({ plain, last }: Step): void {
    if (last === undefined || plain.size > mostCarried) return;
    this.#carried = { progress: { position: last.position, hash: last.hash }, plain };
  }

  #take(step: Step, row: EntryRow): void {
    step.last = row;
    const key = row.call === null ? undefined : `${row.session}/${row.call}`;
    if (key !== undefined && this.#takePlain(step, key, row)) return;
    const entry = decode(row);
    const tally = tallyOf(step, row.session, entry.sessionId);
    for (const { at } of entry.events) countEvent(tally, at);
    if (key === undefined) {
      step.loose.push(row);
      return;
    }
    const known = step.calls.get(key);
    if (known !== undefined) {
      known.push({ row, entry });
      return;
    }
    const plain = step.plain.get(key);
    step.plain.delete(key);
    // A stored call is read again as a whole.
    const before = plain === undefined || plain.stored !== undefined ? [] : plain.rows;
    step.calls.set(key, [...before.map((each) => ({ row: each, entry: decode(each) })), { row, entry }]);
  }

  /** Takes an entry of a call that takes the usual course. A call that has ended is written at once. */
  #takePlain(step: Step, key: string, row: EntryRow): boolean {
    let call = step.plain.get(key);
    if (call === undefined) {
      call = row.version === 1 && !step.calls.has(key) ? beginPlainCall(row) : undefined;
      if (call === undefined) return false;
      if (call.status !== 'settled') step.plain.set(key, call);
    } else if (!continuePlainCall(call, row)) return false;
    countPlainEvents(tallyOf(step, row.session, call.sessionId), call);
    if (call.status === 'settled') {
      this.#putPlain(step, call);
      step.plain.delete(key);
    }
    return true;
  }

  #putPlain(step: Step, call: PlainCall<EntryRow>): void {
    const { stored, status, rows } = call;
    if (stored === status) return;
    const { position, session } = rows[0] as EntryRow; // a call has an entry
    asDamage(position, () => this.#rows.putPlain(call));
    const tally = tallyOf(step, session, call.sessionId);
    if (stored !== undefined) countCall(tally, plainTally(stored), -1);
    countCall(tally, plainTally(status));
    call.stored = status;
  }

  async #write(step: Step, isOver: () => boolean): Promise<boolean> {
    const { last } = step;
    let index = 0;
    for (const entries of step.calls.values()) {
      if (index++ % callsPerSlice === callsPerSlice - 1) {
        await new Promise(setImmediate);
        if (isOver()) return false;
      }
      this.#putCall(step, entries);
    }
    for (const call of step.plain.values()) this.#putPlain(step, call);
    if (last === undefined) return true;
    const isRemoving = step.loose.some(({ text }) => removals.some((type) => text.includes(type)));
    // Removed rows must not stay in unused parts of the file.
    if (isRemoving) this.#tables.pragma('secure_delete = ON');
    for (const row of step.loose) this.#putRefusals(row);
    for (const row of step.loose) this.#followErasure(step, row, last.position);
    this.#counts.write();
    for (const [session, tally] of step.sessions) this.#putTally(session, tally);
    for (const row of step.loose) this.#followRemoval(row);
    this.#setProgress.run(last.position, last.hash);
    // Otherwise erased words would stay in the file until SQLite merges its pages.
    return !isRemoving || this.#words.compact(isOver);
  }

  #putCall(step: Step, fresh: readonly DecodedRow[]): void {
    const [first] = fresh;
    const until = fresh.at(-1)?.row.position ?? 0;
    if (first === undefined) return;
    const isNew = first.row.version === 1;
    const entries = isNew ? fresh : this.#entriesOf(first.entry).filter(({ row }) => row.position <= until);
    this.#putRows(step, entries, isNew);
  }

  #putRows(step: Step, entries: readonly DecodedRow[], isNew: boolean): void {
    const [first] = entries;
    if (first === undefined) return;
    const put = asDamage(first.row.position, () => this.#rows.put(entries, isNew));
    if (put === undefined) return;
    const tally = tallyOf(step, first.row.session, first.entry.sessionId);
    if (put.before !== undefined) countCall(tally, put.before, -1);
    countCall(tally, put.after);
  }

  #entriesOf({ sessionId, callId }: ReadEntry): DecodedRow[] {
    this.#heads.refresh();
    const head = this.#heads.find(sessionId);
    if (head === undefined || callId === undefined) return [];
    return this.#entries.ofCall(head, callId).map((row) => ({ row, entry: decode(row) }));
  }

  #putTally(session: number, tally: SessionTally): void {
    asDamage(undefined, () =>
      this.#putSession.run(
        session,
        toSqlText(tally.sessionId),
        tally.calls,
        tally.openCalls,
        tally.failures,
        tally.denials,
        tally.unresolved,
        tally.firstAt,
        tally.lastAt,
      ),
    );
  }

  /** Calls that were not accepted have audit records but no row of their own. */
  #putRefusals(row: EntryRow): void {
    if (!row.text.includes('"call.not_accepted"')) return;
    asDamage(row.position, () => this.#rows.putRefusals({ row, entry: decode(row) }));
  }

  /** Bodies erased after their entries were read: the tables must drop them too. */
  #followErasure(step: Step, row: EntryRow, until: number): void {
    if (!row.text.includes('"body.erased"')) return;
    this.#heads.refresh();
    const calls = new Map<string, DecodedRow[]>();
    const head = this.#heads.find(decode(row).sessionId);
    for (const other of head === undefined ? [] : this.#entries.ofSession(head)) {
      const { call } = other;
      if (other.position > until) continue;
      if (call === null) {
        this.#putRefusals(other);
        continue;
      }
      const decoded: DecodedRow = { row: other, entry: decode(other) };
      const known = calls.get(call);
      if (known === undefined) calls.set(call, [decoded]);
      else known.push(decoded);
    }
    for (const entries of calls.values())
      if (entries.some(({ entry }) => entry.erased)) this.#putRows(step, entries, false);
  }

  /** Removed sessions: drops their rows, unless another session has taken the name. */
  #followRemoval(row: EntryRow): void {
    if (!row.text.includes('"session.dropped"')) return;
    for (const event of decode(row).events as readonly QuittanceEvent[]) {
      if (event.type !== 'session.dropped') continue;
      const name = toSqlText(event.droppedSessionId);
      const current = this.#sessionByName.get(name) ?? 0;
      for (const session of this.#sessionsByName.all(name))
        if (session !== current) {
          this.#words.dropSession(session);
          for (const drop of this.#dropSession) drop.run(session);
        }
    }
  }
}

const plainTally = (status: PlainStatus): Tally => ({
  status,
  outcome: status === 'settled' ? 'ToolExecutionResult' : undefined,
  unresolved: false,
});

function tallyOf(step: Step, session: number, sessionId: string): SessionTally {
  let tally = step.sessions.get(session);
  if (tally === undefined) {
    tally = newSessionTally(sessionId);
    step.sessions.set(session, tally);
  }
  return tally;
}
