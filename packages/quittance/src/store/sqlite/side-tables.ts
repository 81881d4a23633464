/**
 * State that an append checks or changes: claims, counters, sealed inputs, unresolved effects, states. It is read and
 * changed inside the transaction of the entry that changes it.
 *
 * The entries decide. If a row claims less than its marked entry, the entry wins. If a row claims more than the
 * entries, the file is damaged, and nothing is appended because of it.
 */
import type { JsonObject } from '../../base/json.ts';
import { readJsonText } from '../../base/json.ts';
import type { ClaimHolder, Counter, CounterTotal, Reservation } from '../../ledger/claims.ts';
import type { AppendResult, Entry, Move, StoredState } from '../../ledger/journal.ts';
import { lastState } from '../../ledger/last-state.ts';
import { sessionCounterPrefixes } from '../../ledger/claims.ts';
import { leavesUnsettledEffect } from '../../ledger/prepare-entry.ts';
import { isKnownEvent } from '../../ledger/formats/v1/event-table.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { ReadEvent } from '../../ledger/unknown-event.ts';
import type { Database } from './database.ts';
import { fromSqlText, toSqlText } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import type { Marks } from './marks.ts';
import { markOf, unfoundedError } from './marks.ts';
import type { EffectNote } from '../../ledger/prepare-entry.ts';
import type { Session } from './sessions.ts';
import type { AppendOrder, OrderExtras } from './write-order.ts';

const nothing: Counter = { used: 0, reserved: 0 };
/** Counters cached while no other process writes. */
const mostCounters = 65_536;

export class SideTables {
  readonly #sql: Database;
  readonly #marks: Marks;
  readonly #entries: EntryTable;
  /** Counters by name, for the writer. */
  readonly #counters: Map<string, Counter> | undefined;

  /** `remembers`: is this the only connection of the process that writes? Then it calls `forget` when others have. */
  constructor(sql: Database, marks: Marks, entries: EntryTable, remembers: boolean) {
    this.#sql = sql;
    this.#marks = marks;
    this.#entries = entries;
    this.#counters = remembers ? new Map() : undefined;
  }

  /** Another process has written, or a transaction was rolled back. */
  forget(): void {
    this.#counters?.clear();
    this.#marks.forget();
  }

  /**
   * According to the entry that made the claim. A row without such an entry still blocks other calls from the key.
   */
  readClaim(key: string): ClaimHolder | undefined {
    const chained = this.#marks.claimOf(key);
    if (chained !== undefined) return chained;
    const holder = this.#sql
      .row<{ session: string; call: string; digest: string }>(
        'SELECT session, call, digest FROM claims WHERE key = ?',
      )
      .get(toSqlText(key));
    return (
      holder && {
        sessionId: fromSqlText(holder.session),
        callId: fromSqlText(holder.call),
        inputDigest: fromSqlText(holder.digest),
      }
    );
  }

  /** According to the entry that last changed it. Throws if the row says that more is used. */
  readCounter(name: string): Counter {
    const known = this.#counters?.get(name);
    if (known !== undefined) return known;
    const row = this.#sql
      .row<Counter>('SELECT used, reserved FROM counters WHERE name = ?')
      .get(toSqlText(name));
    if (!this.#marks.areSet) return row ?? nothing;
    const chained = this.#marks.counterOf(name) ?? nothing;
    if (row !== undefined && row.used + row.reserved > chained.used + chained.reserved)
      throw unfoundedError(`the counter ${JSON.stringify(name)}`);
    if (this.#counters !== undefined && this.#counters.size >= mostCounters) this.#counters.clear();
    this.#counters?.set(name, chained);
    return chained;
  }

  readSealed({ session }: Session, callId: string): string | undefined {
    const sealed = this.#sql
      .value<string>('SELECT text FROM sealed WHERE session = ? AND call = ?')
      .get(session, toSqlText(callId));
    return sealed === undefined ? undefined : fromSqlText(sealed);
  }

  /** Rows, and calls that are unresolved according to the chain although their row is missing. */
  findUnsettled({ session }: Session, toolName: string, inputDigest: string): readonly string[] {
    const found = this.#sql
      .value<string>(
        'SELECT call FROM unsettled WHERE session = ? AND tool = ? AND digest = ? ORDER BY position',
      )
      .all(session, toSqlText(toolName), toSqlText(inputDigest))
      .map(fromSqlText);
    for (const position of this.#marks.effectsOf(session, toolName, inputDigest)) {
      const { callId, events } = this.#marks.entryAt(position);
      if (callId !== undefined && events.some(isDoubt) && !found.includes(callId)) found.push(callId);
    }
    return found;
  }

  readState({ session }: Session, subject: string): StoredState | undefined {
    const row = this.#sql
      .row<{ version: number; text: string }>(
        'SELECT version, text FROM states WHERE session = ? AND subject = ?',
      )
      .get(session, toSqlText(subject));
    if (!this.#marks.areSet) return row && { version: row.version, state: toState(row.text) };
    const moved = this.#marks.moveOf(session, subject);
    const version = versionIn(moved, subject);
    if (row !== undefined && row.version > version) throw unfoundedError(`the state of ${subject}`);
    if (moved === undefined) return undefined;
    if (!moved.erased) return { version, state: lastState(moved.events, subject) };
    return { version, state: row?.version === version ? toState(row.text) : {} };
  }

  /** The first subject that another call has moved. */
  findMoved(moves: readonly Move[], head: Session | undefined): AppendResult | undefined {
    for (const { subject, expectedVersion } of moves) {
      const version = head === undefined ? 0 : versionIn(this.#marks.moveOf(head.session, subject), subject);
      if (version !== expectedVersion) return { status: 'moved', subject, version };
    }
    return undefined;
  }

  /** The first reservation that requests more than is left. */
  findSpent(reserve: readonly Reservation[]): AppendResult | undefined {
    for (const [index, { counter, amount, limit }] of reserve.entries()) {
      const { used, reserved } = this.readCounter(counter);
      let taken = used + reserved;
      for (const earlier of reserve.slice(0, index)) if (earlier.counter === counter) taken += earlier.amount;
      if (taken + amount > limit) return { status: 'exhausted', counter, used: taken };
    }
    return undefined;
  }

  /** The totals of an entry's counters after it, each once. */
  totalsAfter({ reserve = [], settle = [] }: Pick<Entry, 'reserve' | 'settle'>): readonly CounterTotal[] {
    if (reserve.length === 0 && settle.length === 0) return [];
    const totals = new Map<string, CounterTotal>();
    const count = (counter: string, used: number, reserved: number): void => {
      const before = totals.get(counter) ?? this.readCounter(counter);
      totals.set(counter, { counter, used: before.used + used, reserved: before.reserved + reserved });
    };
    for (const { counter, amount } of reserve) count(counter, 0, amount);
    for (const { counter, reserved, used, reset } of settle) {
      const before = reset === true ? (totals.get(counter) ?? this.readCounter(counter)).used : 0;
      count(counter, used - before, -reserved);
    }
    return [...totals.values()];
  }

  /** Stores the state of an accepted entry, which is now at this position. */
  apply(
    { sessionId, callId }: AppendOrder,
    extras: OrderExtras,
    { session }: Session,
    totals: readonly CounterTotal[],
    position: number,
  ): void {
    const { claim, releaseClaim, sealed } = extras;
    this.putTotals(totals, position);
    for (const { subject, expectedVersion, state } of extras.moves ?? []) {
      const version = expectedVersion + 1;
      this.#sql.run(putState, session, toSqlText(subject), version, toSqlText(state));
      this.#marks.put(markOf.state(session, subject), position);
    }
    if (releaseClaim !== undefined) {
      this.#sql.run('DELETE FROM claims WHERE key = ?', toSqlText(releaseClaim));
      this.#marks.drop(markOf.claim(releaseClaim));
    }
    if (callId === undefined) return;
    if (claim !== undefined) {
      const values = [claim.key, sessionId, callId, claim.inputDigest].map(toSqlText);
      this.#sql.run('INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)', ...values);
      this.#marks.put(markOf.claim(claim.key), position);
    }
    if (sealed !== undefined)
      this.#sql.run(
        'INSERT OR REPLACE INTO sealed VALUES (?, ?, ?)',
        session,
        toSqlText(callId),
        toSqlText(sealed),
      );
    if (extras.dropSealed === true) this.dropSealed(session, callId);
  }

  /** Sets counters to the totals that the entry at this position states. */
  putTotals(totals: readonly CounterTotal[], position: number): void {
    for (const { counter, used, reserved } of totals) {
      this.#sql.run('INSERT OR REPLACE INTO counters VALUES (?, ?, ?)', toSqlText(counter), used, reserved);
      this.#marks.put(markOf.counter(counter), position);
      this.#counters?.set(counter, { used, reserved });
    }
  }

  /** Called after the entry that made an effect unresolved, or that resolved it. */
  noteEffect(head: Session, effect: EffectNote, position: number): void {
    const { session } = head;
    const { callId } = effect;
    if (effect.type === 'resolved') {
      this.#sql.run('DELETE FROM unsettled WHERE session = ? AND call = ?', session, toSqlText(callId));
      const asked = this.#entries.askedFor(head, callId);
      if (asked !== undefined)
        this.#marks.drop(markOf.effect(session, asked.toolName, asked.inputDigest, callId));
      return;
    }
    const { toolName } = effect;
    const digest = effect.inputDigest ?? this.#entries.askedFor(head, callId)?.inputDigest;
    if (digest === undefined) return;
    this.#sql.run(
      'INSERT OR REPLACE INTO unsettled VALUES (?, ?, ?, ?, ?)',
      position,
      session,
      toSqlText(toolName),
      toSqlText(digest),
      toSqlText(callId),
    );
    this.#marks.put(markOf.effect(session, toolName, digest, callId), position);
  }

  /** Drops everything a session left here. Named counters are shared and stay. */
  dropSession(session: number, sessionId: string): void {
    this.#counters?.clear();
    this.#marks.dropSession(session, sessionId);
    this.#sql.run('DELETE FROM claims WHERE session = ?', toSqlText(sessionId));
    for (const prefix of sessionCounterPrefixes(sessionId))
      this.#sql.run('DELETE FROM counters WHERE name >= ? AND name < ?', prefix, `${prefix}\u{10FFFF}`);
    for (const table of ['sealed', 'unsettled', 'states'])
      this.#sql.run(`DELETE FROM ${table} WHERE session = ?`, session);
  }

  /** Workflow evidence is erased with the bodies it came from; the version of each state stays. */
  emptyStates(session: number): void {
    this.#sql.run(`UPDATE states SET text = '{}' WHERE session = ?`, session);
  }

  dropSealed(session: number, callId: string): void {
    this.#sql.run('DELETE FROM sealed WHERE session = ? AND call = ?', session, toSqlText(callId));
  }
}

const putState = 'INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)';

/** The version of a subject after the entry that last moved it; 0 if it never moved. */
const versionIn = (moved: ReadEntry | undefined, subject: string): number => {
  if (moved === undefined) return 0;
  const move = moved.moves?.find((each) => each.subject === subject);
  if (move === undefined) throw unfoundedError(`the state of ${subject}`);
  return move.expectedVersion + 1;
};

/** The text in the table was written from a JSON object. */
const toState = (text: string): JsonObject => readJsonText(fromSqlText(text)) as JsonObject;

const isDoubt = (event: ReadEvent): boolean => isKnownEvent(event) && leavesUnsettledEffect(event);
