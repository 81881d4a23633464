/**
 * State that an append checks or changes: claims, counters, sealed inputs, unresolved effects, states. It is read and
 * changed inside the transaction of the entry that changes it.
 *
 * The entries decide. If a row claims less than its marked entry, the entry wins. If a row claims more than the
 * entries, the file is damaged, and nothing is appended because of it.
 */
import type { JsonObject } from '../../base/json.ts';
import { readJsonText } from '../../base/json-text.ts';
import type { ClaimHolder, Counter, CounterTotal, Reservation } from '../../ledger/claims.ts';
import type { AppendResult, Entry, Move, StoredState } from '../../ledger/journal.ts';
import { lastState } from '../../ledger/last-state.ts';
import { sessionCounterPrefixes } from '../../ledger/session-counters.ts';
import { leavesUnsettledEffect } from '../../ledger/unsettled-effect.ts';
import { isKnownEvent } from '../../ledger/formats/v1/event-table.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { ReadEvent } from '../../ledger/unknown-event.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { Heads } from './heads.ts';
import type { SessionHead } from './session-head.ts';
import type { Marks } from './marks.ts';
import { markOf, unfoundedError } from './marks.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';
import type { EffectNote } from '../../ledger/prepare-entry.ts';
import type { AppendOrder, OrderExtras } from './write-order.ts';

const nothing: Counter = { used: 0, reserved: 0 };
/** Counters cached while no other process writes. */
const mostCounters = 65_536;

/** What a call requested: the tool, and the digest of the input that the gates accepted. */
export type AskedFor = { readonly toolName: string; readonly inputDigest: string };

export class SideTables {
  readonly #heads: Heads;
  readonly #marks: Marks;
  readonly #askedFor: (sessionId: string, callId: string) => AskedFor | undefined;
  /** By name, as of `#epoch`. */
  readonly #counters = new Map<string, Counter>();
  #hasEffects: boolean | undefined;
  #epoch = -1;
  readonly #claim: Statement<{ session: string; call: string; digest: string }>;
  readonly #putClaim: Statement<never>;
  readonly #dropClaim: Statement<never>;
  readonly #counter: Statement<Counter>;
  readonly #putCounter: Statement<never>;
  readonly #state: Statement<{ version: number; text: string }>;
  readonly #putState: Statement<never>;
  readonly #sealed: Statement<string>;
  readonly #putSealed: Statement<never>;
  readonly #dropSealed: Statement<never>;
  readonly #unsettled: Statement<string>;
  readonly #putUnsettled: Statement<never>;
  readonly #dropUnsettled: Statement<never>;
  readonly #dropClaimsOf: Statement<never>;
  readonly #dropCounters: Statement<never>;
  readonly #dropSealedOf: Statement<never>;
  readonly #dropUnsettledOf: Statement<never>;
  readonly #dropStatesOf: Statement<never>;
  readonly #emptyStatesOf: Statement<never>;

  /** `askedFor`: what a call in the ledger requested. */
  constructor(
    database: Database,
    heads: Heads,
    marks: Marks,
    askedFor: (sessionId: string, callId: string) => AskedFor | undefined,
  ) {
    this.#heads = heads;
    this.#marks = marks;
    this.#askedFor = askedFor;
    this.#claim = prepareRow(database, 'SELECT session, call, digest FROM claims WHERE key = ?');
    this.#putClaim = prepareRow(database, 'INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)');
    this.#dropClaim = prepareRow(database, 'DELETE FROM claims WHERE key = ?');
    this.#counter = prepareRow(database, 'SELECT used, reserved FROM counters WHERE name = ?');
    this.#putCounter = prepareRow(database, 'INSERT OR REPLACE INTO counters VALUES (?, ?, ?)');
    this.#state = prepareRow(database, 'SELECT version, text FROM states WHERE session = ? AND subject = ?');
    this.#putState = prepareRow(database, 'INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)');
    this.#sealed = prepareValue(database, 'SELECT text FROM sealed WHERE session = ? AND call = ?');
    this.#putSealed = prepareRow(database, 'INSERT OR REPLACE INTO sealed VALUES (?, ?, ?)');
    this.#dropSealed = prepareRow(database, 'DELETE FROM sealed WHERE session = ? AND call = ?');
    this.#unsettled = prepareValue(
      database,
      'SELECT call FROM unsettled WHERE session = ? AND tool = ? AND digest = ? ORDER BY position',
    );
    this.#putUnsettled = prepareRow(database, 'INSERT OR REPLACE INTO unsettled VALUES (?, ?, ?, ?, ?)');
    this.#dropUnsettled = prepareRow(database, 'DELETE FROM unsettled WHERE session = ? AND call = ?');
    this.#dropClaimsOf = prepareRow(database, 'DELETE FROM claims WHERE session = ?');
    this.#dropCounters = prepareRow(database, 'DELETE FROM counters WHERE name >= ? AND name < ?');
    this.#dropSealedOf = prepareRow(database, 'DELETE FROM sealed WHERE session = ?');
    this.#emptyStatesOf = prepareRow(database, `UPDATE states SET text = '{}' WHERE session = ?`);
    this.#dropStatesOf = prepareRow(database, 'DELETE FROM states WHERE session = ?');
    this.#dropUnsettledOf = prepareRow(database, 'DELETE FROM unsettled WHERE session = ?');
  }

  /**
   * According to the entry that made the claim. A row without such an entry still blocks other calls from the key.
   */
  readClaim(key: string): ClaimHolder | undefined {
    const chained = this.#marks.claimOf(key);
    if (chained !== undefined) return chained;
    const holder = this.#claim.get(toSqlText(key));
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
    this.#forgetOld();
    const known = this.#counters.get(name);
    if (known !== undefined) return known;
    const row = this.#counter.get(toSqlText(name));
    if (!this.#marks.areSet) return row ?? nothing;
    const chained = this.#marks.counterOf(name) ?? nothing;
    if (row !== undefined && row.used + row.reserved > chained.used + chained.reserved)
      throw unfoundedError(`the counter ${JSON.stringify(name)}`);
    if (this.#counters.size >= mostCounters) this.#counters.clear();
    this.#counters.set(name, chained);
    return chained;
  }

  /** The cache is valid until another process writes or a transaction is rolled back. */
  #forgetOld(): void {
    if (this.#epoch === this.#heads.epoch) return;
    this.#epoch = this.#heads.epoch;
    this.#counters.clear();
    this.#hasEffects = undefined;
    this.#marks.forget();
  }

  readSealed(head: SessionHead, callId: string): string | undefined {
    const sealed = this.#sealed.get(head.session, toSqlText(callId));
    return sealed === undefined ? undefined : fromSqlText(sealed);
  }

  /** Rows, and calls that are unresolved according to the chain although their row is missing. */
  findUnsettled(head: SessionHead, toolName: string, inputDigest: string): readonly string[] {
    const found = this.#unsettled
      .all(head.session, toSqlText(toolName), toSqlText(inputDigest))
      .map(fromSqlText);
    for (const position of this.#marks.effectsOf(head.session, toolName, inputDigest)) {
      const { callId, events } = this.#marks.entryAt(position);
      if (callId !== undefined && events.some(isDoubt) && !found.includes(callId)) found.push(callId);
    }
    return found;
  }

  /** Almost always false, which saves every call two queries. */
  get hasUnsettled(): boolean {
    this.#forgetOld();
    this.#hasEffects ??= this.#marks.hasEffects;
    return this.#hasEffects || this.#heads.hasUnsettled;
  }

  /** Is it remembered that there is no unresolved effect? Reads nothing. */
  get areEffectsKnownAbsent(): boolean {
    return this.#epoch === this.#heads.epoch && this.#hasEffects === false && this.#heads.isKnownSettled;
  }

  readState(head: SessionHead, subject: string): StoredState | undefined {
    const row = this.#state.get(head.session, toSqlText(subject));
    if (!this.#marks.areSet) return row && { version: row.version, state: toState(row.text) };
    const moved = this.#marks.moveOf(head.session, subject);
    const version = versionIn(moved, subject);
    if (row !== undefined && row.version > version) throw unfoundedError(`the state of ${subject}`);
    if (moved === undefined) return undefined;
    if (!moved.erased) return { version, state: lastState(moved.events, subject) };
    return { version, state: row?.version === version ? toState(row.text) : {} };
  }

  /** The first subject that another call has moved. */
  findMoved(moves: readonly Move[], head: SessionHead | undefined): AppendResult | undefined {
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

  /** Stores the state of an accepted entry, which is now the last one. */
  apply(
    { sessionId, callId }: AppendOrder,
    extras: OrderExtras,
    head: SessionHead,
    totals: readonly CounterTotal[],
  ): void {
    const { claim, releaseClaim, sealed } = extras;
    const { position } = this.#heads;
    this.putTotals(totals, position);
    if (extras.moves !== undefined)
      for (const { subject, expectedVersion, state } of extras.moves) {
        this.#putState.run(head.session, toSqlText(subject), expectedVersion + 1, toSqlText(state));
        this.#marks.put(markOf.state(head.session, subject), position);
      }
    if (releaseClaim !== undefined) {
      this.#dropClaim.run(toSqlText(releaseClaim));
      this.#marks.drop(markOf.claim(releaseClaim));
    }
    if (callId === undefined) return;
    if (claim !== undefined) {
      this.#putClaim.run(
        toSqlText(claim.key),
        toSqlText(sessionId),
        toSqlText(callId),
        toSqlText(claim.inputDigest),
      );
      this.#marks.put(markOf.claim(claim.key), position);
    }
    if (sealed !== undefined) this.#putSealed.run(head.session, toSqlText(callId), toSqlText(sealed));
    if (extras.dropSealed === true) this.#dropSealed.run(head.session, toSqlText(callId));
  }

  /** Sets counters to the totals that the entry at this position states. */
  putTotals(totals: readonly CounterTotal[], position: number): void {
    for (const { counter, used, reserved } of totals) {
      this.#putCounter.run(toSqlText(counter), used, reserved);
      this.#marks.put(markOf.counter(counter), position);
      this.#counters.set(counter, { used, reserved });
    }
  }

  /** Called after the entry that made an effect unresolved, or that resolved it. */
  noteEffect({ session, sessionId }: SessionHead, effect: EffectNote): void {
    const { callId } = effect;
    if (effect.type === 'resolved') {
      this.#dropUnsettled.run(session, toSqlText(callId));
      const asked = this.#askedFor(sessionId, callId);
      if (asked !== undefined)
        this.#marks.drop(markOf.effect(session, asked.toolName, asked.inputDigest, callId));
      return;
    }
    const { toolName } = effect;
    const digest = effect.inputDigest ?? this.#askedFor(sessionId, callId)?.inputDigest;
    if (digest === undefined) return;
    const { position } = this.#heads;
    this.#heads.hasUnsettled = true;
    this.#hasEffects = true;
    this.#putUnsettled.run(position, session, toSqlText(toolName), toSqlText(digest), toSqlText(callId));
    this.#marks.put(markOf.effect(session, toolName, digest, callId), position);
  }

  /** Drops everything a session left here. Named counters are shared and stay. */
  dropSession(session: number, sessionId: string): void {
    this.#counters.clear();
    this.#hasEffects = undefined;
    this.#marks.dropSession(session, sessionId);
    this.#dropClaimsOf.run(toSqlText(sessionId));
    for (const prefix of sessionCounterPrefixes(sessionId))
      this.#dropCounters.run(prefix, `${prefix}\u{10FFFF}`);
    this.#dropSealedOf.run(session);
    this.#dropUnsettledOf.run(session);
    this.#dropStatesOf.run(session);
  }

  /** Workflow evidence is erased with the bodies it came from; the version of each state stays. */
  emptyStates(session: number): void {
    this.#emptyStatesOf.run(session);
  }

  dropSealed(session: number, callId: string): void {
    this.#dropSealed.run(session, toSqlText(callId));
  }
}

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
