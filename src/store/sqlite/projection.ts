/**
 * Fills the read tables from the entries of the ledger, in order of position, in steps of one commit each.
 *
 * 1. A row depends only on the entries up to the progress. The tables come out the same however the entries are split
 *    into steps, and whichever process takes them.
 * 2. A step and its progress are one commit. Several processes may take steps, one at a time.
 * 3. A step is long, because calls that begin and end in it are written once and each index page is touched once. But
 *    it yields every few milliseconds.
 */
import { QuittanceError } from '../../base/error.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { SessionTally } from '../../ledger/session-tally.ts';
import { countCall, countEvent, newSessionTally } from '../../ledger/session-tally.ts';
import type { DecodedRow } from './call-rows.ts';
import { CallRows } from './call-rows.ts';
import type { Database, Statement } from './database.ts';
import { isRefusedValue, prepareRow, prepareValue } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import type { EntryRow } from './entry-row.ts';
import { decode } from './entry-row.ts';
import type { Heads } from './heads.ts';
import { toSqlText } from './sql-text.ts';
import { TallyBulk, tallyTriggers } from './tally-table.ts';

type Progress = { readonly position: number; readonly hash: string };
/** The data read in one step. */
type Step = {
  readonly calls: Map<string, DecodedRow[]>;
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
/** Steps with fewer calls count them one by one. */
const fewestInBulk = 256;
/** A step that has read this much text ends early, because all of it is in memory at once. */
const charsPerStep = 16_777_216;
const entriesPerSlice = 128;
const callsPerSlice = 64;

export class Projection {
  readonly #entries: EntryTable;
  readonly #heads: Heads;
  readonly #tables: Database;
  readonly #rows: CallRows;
  readonly #bulk: TallyBulk;
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
    this.#rows = new CallRows(tables);
    this.#bulk = new TallyBulk(tables);
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
  }

  /** Position of the last entry. */
  get end(): number {
    return this.#end.get() as number;
  }

  /** How many positions the tables are behind. */
  get lag(): number {
    return this.end - (this.#progress.get() as Progress).position;
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
      const from = (this.#progress.get() as Progress).position;
      const step = await this.#read(from, isOver);
      if (step !== undefined && (await this.#write(step, from, isOver))) this.#tables.exec('COMMIT');
      const now = this.#progress.get() as Progress;
      // Otherwise the process that fills the tables would restart forever.
      if (!isOver() && !this.#stands(now.position, now.hash)) throw unfillableError(now.position);
    } finally {
      if (this.#tables.open && this.#tables.inTransaction) this.#tables.exec('ROLLBACK');
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
    this.#setProgress.run(0, '');
  }

  async #read(from: number, isOver: () => boolean): Promise<Step | undefined> {
    const step: Step = { calls: new Map(), sessions: new Map(), loose: [], last: undefined };
    let chars = 0;
    for (let read = 0; read < this.#perStep && chars < charsPerStep; read += entriesPerSlice) {
      if (read > 0) await new Promise(setImmediate);
      if (isOver()) return undefined;
      const rows = this.#entries.after(step.last?.position ?? from, entriesPerSlice);
      for (const row of rows) {
        this.#take(step, row);
        chars += row.text.length + (row.bodies?.length ?? 0);
      }
      if (rows.length < entriesPerSlice) break;
    }
    return step;
  }

  #take(step: Step, row: EntryRow): void {
    const entry = decode(row);
    step.last = row;
    const tally = tallyOf(step, row.session, entry.sessionId);
    for (const { at } of entry.events) countEvent(tally, at);
    if (row.call === null) {
      step.loose.push(row);
      return;
    }
    const key = `${row.session}/${row.call}`;
    const known = step.calls.get(key);
    if (known === undefined) step.calls.set(key, [{ row, entry }]);
    else known.push({ row, entry });
  }

  async #write(step: Step, from: number, isOver: () => boolean): Promise<boolean> {
    const { last } = step;
    const isBulk = step.calls.size >= fewestInBulk && last !== undefined;
    if (isBulk) this.#bulk.begin();
    // In order of the session index, so that each index page is touched once.
    const calls = [...step.calls.values()].sort((left, right) => sessionOf(left) - sessionOf(right));
    for (const [index, entries] of calls.entries()) {
      if (index % callsPerSlice === callsPerSlice - 1) {
        await new Promise(setImmediate);
        if (isOver()) return false;
      }
      this.#putCall(step, entries);
    }
    if (last === undefined) return true;
    if (isBulk) this.#bulk.end(from, last.position);
    this.#heads.refresh();
    for (const row of step.loose) this.#putRefusals(row);
    for (const row of step.loose) this.#followErasure(step, row, last.position);
    for (const [session, tally] of step.sessions) this.#putTally(session, tally);
    for (const row of step.loose) this.#followRemoval(row);
    this.#setProgress.run(last.position, last.hash);
    return true;
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
        if (session !== current) for (const drop of this.#dropSession) drop.run(session);
    }
  }
}

const unfillableError = (position: number): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The hash of the entry at position ${position} was not written by this program, so the read tables ` +
      'cannot be filled. Run `quittance verify` to list every such entry.',
  );

/** If a row cannot be written because an entry lacks a value or has one of another type, the entry was changed. */
function asDamage<Result>(position: number | undefined, put: () => Result): Result {
  try {
    return put();
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    const where = position === undefined ? '' : `, the first at position ${position}`;
    throw new QuittanceError(
      'ledger.damaged',
      `The entries of a call${where} lack values that every call has, so the read tables cannot be ` +
        'filled. Run `quittance verify` to see what was changed.',
    );
  }
}

const sessionOf = ([first]: readonly DecodedRow[]): number => first?.row.session ?? 0;

function tallyOf(step: Step, session: number, sessionId: string): SessionTally {
  let tally = step.sessions.get(session);
  if (tally === undefined) {
    tally = newSessionTally(sessionId);
    step.sessions.set(session, tally);
  }
  return tally;
}
