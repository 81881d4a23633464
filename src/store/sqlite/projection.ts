/**
 * Fills the read tables from the entries of the ledger, in the order of their positions and a bounded step at a time.
 *
 * 1. What a row says depends on the entries up to the progress and on nothing else: however the steps are cut, and
 *    whoever takes them, the tables come out the same.
 * 2. A step and its progress are one commit. Several processes may take steps; one at a time takes one.
 */
import type { ToolAuditRecord } from '../../call/audit.ts';
import { projectAudit } from '../../call/audit-projection.ts';
import type { CallEvent, QuittanceEvent } from '../../call/event.ts';
import { foldCall } from '../../call/evolve.ts';
import type { CallSummary } from '../../ledger/call-query.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { SessionTally } from '../../ledger/summarise-session.ts';
import { countCall, countEvent, newSessionTally } from '../../ledger/summarise-session.ts';
import { toCallSummary } from '../../ledger/summarise-call.ts';
import type { Database, SqlValue, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { EntryRow, EntryTable } from './entry-table.ts';
import { decode } from './entry-table.ts';
import type { Heads } from './heads.ts';
import { toSqlText } from './sql-text.ts';

type Decoded = { readonly row: EntryRow; readonly entry: ReadEntry };
type Progress = { readonly position: number; readonly hash: string };
/** What a session counts of a call. */
type Tally = {
  readonly status: CallSummary['status'];
  readonly outcome: CallSummary['outcome'] | null;
  readonly unresolved: number;
};
const readTables = ['calls', 'audit', 'sessions'] as const;
const entriesPerStep = 128;

export class Projection {
  readonly #entries: EntryTable;
  readonly #heads: Heads;
  readonly #tables: Database;
  readonly #hashAt: Statement<string>;
  readonly #end: Statement<number>;
  readonly #progress: Statement<Progress>;
  readonly #setProgress: Statement<never>;
  readonly #tally: Statement<Tally>;
  readonly #putCall: Statement<never>;
  readonly #putAudit: Statement<never>;
  readonly #dropAudit: Statement<never>;
  readonly #putSession: Statement<never>;
  readonly #sessionByName: Statement<number>;
  readonly #sessionsByName: Statement<number>;
  readonly #dropSession: readonly Statement<never>[];
  readonly #dropRows: readonly Statement<never>[];
  #changes = new Map<number, SessionTally>();

  constructor(ledger: Database, entries: EntryTable, heads: Heads, tables: Database) {
    this.#entries = entries;
    this.#heads = heads;
    this.#tables = tables;
    this.#hashAt = prepareValue(ledger, 'SELECT hash FROM entries WHERE position = ?');
    this.#end = prepareValue(ledger, 'SELECT coalesce(max(position), 0) FROM entries');
    this.#progress = prepareRow(tables, 'SELECT position, hash FROM progress');
    this.#setProgress = prepareRow(tables, 'UPDATE progress SET position = ?, hash = ?');
    this.#tally = prepareRow(
      tables,
      'SELECT status, outcome, unresolved FROM calls WHERE session = ? AND call_id = ?',
    );
    this.#putCall = prepareRow(tables, `INSERT OR REPLACE INTO calls VALUES (${marks(21)})`);
    this.#putAudit = prepareRow(tables, `INSERT OR REPLACE INTO audit VALUES (${marks(14)})`);
    this.#dropAudit = prepareRow(tables, 'DELETE FROM audit WHERE session = ? AND call_id = ?');
    this.#putSession = prepareRow(
      tables,
      `INSERT INTO sessions VALUES (${marks(9)}) ON CONFLICT (session) DO UPDATE SET
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

  /** The position of the last entry there is. */
  get end(): number {
    return this.#end.get() as number;
  }

  /** Takes one step unless the tables reach to `target` already. True when they do. Throws while another takes one. */
  step(target: number): boolean {
    if (this.#reaches(target)) return true;
    this.#tables.exec('BEGIN IMMEDIATE');
    try {
      this.#heads.refresh();
      this.#take();
      this.#tables.exec('COMMIT');
      return this.#reaches(target);
    } catch (error) {
      if (this.#tables.inTransaction) this.#tables.exec('ROLLBACK');
      throw error;
    }
  }

  /** Empties the tables, to be filled from the beginning. */
  reset(): void {
    this.#tables.exec('BEGIN IMMEDIATE');
    this.#clear();
    this.#tables.exec('COMMIT');
  }

  #reaches(target: number): boolean {
    const { position, hash } = this.#progress.get() as Progress;
    return position >= target && this.#stands(position, hash);
  }

  /**
   * Not so if the ledger was put back to an earlier state, or is another one altogether. An entry that is gone, with
   * others after it, was dropped with its session.
   */
  #stands(position: number, hash: string): boolean {
    return position <= this.end && (this.#hashAt.get(position) ?? hash) === hash;
  }

  #clear(): void {
    for (const drop of this.#dropRows) drop.run();
    this.#setProgress.run(0, '');
  }

  #take(): void {
    const { position, hash } = this.#progress.get() as Progress;
    if (!this.#stands(position, hash)) this.#clear();
    const rows = this.#entries.after((this.#progress.get() as Progress).position, entriesPerStep);
    const last = rows.at(-1);
    if (last === undefined) return;
    this.#changes = new Map();
    const calls = new Map<string, Decoded[]>();
    for (const row of rows) {
      const decoded: Decoded = { row, entry: decode(row) };
      this.#countEvents(decoded);
      if (row.call === null) continue;
      const key = `${row.session}/${row.call}`;
      const known = calls.get(key);
      if (known === undefined) calls.set(key, [decoded]);
      else known.push(decoded);
    }
    for (const entries of calls.values()) this.#projectCall(entries);
    for (const row of rows) this.#followErasure(row, last.position);
    this.#putSessions();
    for (const row of rows) this.#followRemoval(row);
    this.#setProgress.run(last.position, last.hash);
  }

  /** When anything happened in the session. */
  #countEvents({ row, entry }: Decoded): void {
    const change = this.#changeOf(row.session, entry.sessionId);
    for (const { at } of entry.events) countEvent(change, at);
  }

  #projectCall(fresh: readonly Decoded[]): void {
    const [first] = fresh;
    const last = fresh.at(-1);
    if (first === undefined || last === undefined || first.row.call === null) return;
    const { session, call } = first.row;
    const entries =
      first.row.version === 1
        ? fresh
        : this.#entriesOf(first.entry).filter(({ row }) => row.position <= last.row.position);
    const isNew = first.row.version === 1;
    this.#putCallRows(entries, isNew ? 0 : first.row.position);
  }

  #entriesOf({ sessionId, callId }: ReadEntry): Decoded[] {
    const head = this.#heads.find(sessionId);
    if (head === undefined || callId === undefined) return [];
    return this.#entries.ofCall(head, callId).map((row) => ({ row, entry: decode(row) }));
  }

  /** Writes what the entries of one call say; its audit records from the given position on. */
  #putCallRows(entries: readonly Decoded[], auditFrom: number): void {
    const [first] = entries;
    if (first === undefined) return;
    const { callId, sessionId } = first.entry;
    const { session, position } = first.row;
    const events: CallEvent[] = [];
    const positions = new Map<string, number>();
    for (const { row, entry } of entries)
      for (const event of entry.events as readonly QuittanceEvent[])
        if ('callId' in event && event.callId === callId) {
          events.push(event);
          positions.set(event.id, row.position);
        }
    const call = foldCall(events);
    if (call === undefined || callId === undefined) return;
    const summary = toCallSummary(call);
    const before = this.#tally.get(session, toSqlText(callId));
    this.#putCall.run(...toCallRow(position, session, summary, ownerOf(entries)));
    for (const record of projectAudit(events)) {
      const recordAt = positions.get(record.recordId) ?? position;
      if (recordAt >= auditFrom) this.#putAudit.run(...toAuditRow(recordAt, session, record));
    }
    const change = this.#changeOf(session, sessionId);
    if (before !== undefined)
      countCall(
        change,
        { status: before.status, outcome: before.outcome ?? undefined, unresolved: before.unresolved === 1 },
        -1,
      );
    countCall(change, summary);
  }

  #changeOf(session: number, sessionId: string): SessionTally {
    let change = this.#changes.get(session);
    if (change === undefined) {
      change = newSessionTally(sessionId);
      this.#changes.set(session, change);
    }
    return change;
  }

  #putSessions(): void {
    for (const [session, change] of this.#changes)
      this.#putSession.run(
        session,
        toSqlText(change.sessionId),
        change.calls,
        change.openCalls,
        change.failures,
        change.denials,
        change.unresolved,
        change.firstAt,
        change.lastAt,
      );
  }

  /** Bodies that were erased since their entries were read: what the tables took from them must go too. */
  #followErasure(row: EntryRow, until: number): void {
    if (row.call !== null || !row.text.includes('"body.erased"')) return;
    const byCall = new Map<string, Decoded[]>();
    const head = this.#heads.find(decode(row).sessionId);
    for (const other of head === undefined ? [] : this.#entries.ofSession(head)) {
      const { call } = other;
      if (call === null || other.position > until) continue;
      const decoded: Decoded = { row: other, entry: decode(other) };
      const known = byCall.get(call);
      if (known === undefined) byCall.set(call, [decoded]);
      else known.push(decoded);
    }
    for (const [call, entries] of byCall)
      if (entries.some(({ entry }) => entry.erased)) {
        this.#dropAudit.run(row.session, call);
        this.#putCallRows(entries, 0);
      }
  }

  /** Sessions that were removed: their rows go, unless the name was taken again by another. */
  #followRemoval(row: EntryRow): void {
    if (row.call !== null || !row.text.includes('"session.dropped"')) return;
    for (const event of decode(row).events as readonly QuittanceEvent[]) {
      if (event.type !== 'session.dropped') continue;
      const name = toSqlText(event.droppedSessionId);
      const current = this.#sessionByName.get(name) ?? 0;
      for (const session of this.#sessionsByName.all(name))
        if (session !== current) for (const drop of this.#dropSession) drop.run(session);
    }
  }
}

/** Remarks move nothing: whoever makes one is not at the call. */
const ownerOf = (entries: readonly Decoded[]): string =>
  entries.findLast(({ row }) => row.version !== null)?.entry.ownerId ?? '';

const marks = (count: number): string => Array.from({ length: count }, () => '?').join(', ');

const orNull = (text: string | undefined): string | null => (text === undefined ? null : toSqlText(text));

const toCallRow = (position: number, session: number, call: CallSummary, ownerId: string): SqlValue[] => [
  position,
  session,
  toSqlText(call.callId),
  toSqlText(call.turnId),
  toSqlText(call.toolName),
  call.mode,
  call.modeOrigin,
  call.status,
  call.outcome ?? null,
  call.reason ?? null,
  orNull(call.code),
  call.message?.toWellFormed() ?? null,
  orNull(call.inputDigest),
  call.attempts,
  call.unresolved ? 1 : 0,
  call.requestedAt,
  call.settledAt ?? null,
  call.elapsedMs ?? null,
  call.costMicros,
  orNull(call.userId),
  ownerId,
];

const toAuditRow = (position: number, session: number, record: ToolAuditRecord): SqlValue[] => [
  position,
  toSqlText(record.recordId),
  session,
  toSqlText(record.callId),
  toSqlText(record.turnId),
  record.attempt,
  toSqlText(record.toolName),
  record.mode,
  record.outcome.kind,
  record.toolSuccess === undefined ? null : Number(record.toolSuccess),
  record.decidedBy === undefined ? null : toSqlText(`${record.decidedBy.type}:${record.decidedBy.name}`),
  orNull(record.policyVersion),
  orNull(record.principal?.userId),
  record.at,
];
