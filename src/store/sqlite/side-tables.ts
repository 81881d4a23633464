/**
 * What an append is refused by, or must leave behind: claims, counters, sealed inputs, effects in doubt,
 * states. Read and
 * changed inside the transaction of the entry that changes them.
 */
import type { JsonObject } from '../../base/json.ts';
import { readJsonText } from '../../base/json-text.ts';
import type { ToolResolved, ToolResponded } from '../../call/event.ts';
import type {
  AppendResult,
  ClaimHolder,
  Counter,
  Entry,
  Move,
  Reservation,
  StoredState,
} from '../../ledger/ledger.ts';
import { lastState } from '../../ledger/state-of.ts';
import { sessionCounterPrefixes } from '../../ledger/session-counters.ts';
import { lastInputDigest } from '../../ledger/unsettled-effect.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { Heads, SessionHead } from './heads.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';

const nothing: Counter = { used: 0, reserved: 0 };

export class SideTables {
  readonly #heads: Heads;
  readonly #digestOf: (sessionId: string, callId: string) => string | undefined;
  readonly #claim: Statement<{ session: string; call: string; digest: string }>;
  readonly #putClaim: Statement<never>;
  readonly #dropClaim: Statement<never>;
  readonly #counter: Statement<Counter>;
  readonly #count: Statement<never>;
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

  /** `digestOf`: the input digest of a call that is in the ledger. */
  constructor(
    database: Database,
    heads: Heads,
    digestOf: (sessionId: string, callId: string) => string | undefined,
  ) {
    this.#heads = heads;
    this.#digestOf = digestOf;
    this.#claim = prepareRow(database, 'SELECT session, call, digest FROM claims WHERE key = ?');
    this.#putClaim = prepareRow(database, 'INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)');
    this.#dropClaim = prepareRow(database, 'DELETE FROM claims WHERE key = ?');
    this.#counter = prepareRow(database, 'SELECT used, reserved FROM counters WHERE name = ?');
    this.#count = prepareRow(
      database,
      'INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE ' +
        'SET used = used + excluded.used, reserved = reserved + excluded.reserved',
    );
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

  readClaim(key: string): ClaimHolder | undefined {
    const holder = this.#claim.get(toSqlText(key));
    return (
      holder && {
        sessionId: fromSqlText(holder.session),
        callId: fromSqlText(holder.call),
        inputDigest: fromSqlText(holder.digest),
      }
    );
  }

  readCounter(name: string): Counter {
    return this.#counter.get(toSqlText(name)) ?? nothing;
  }

  readSealed(head: SessionHead, callId: string): string | undefined {
    const sealed = this.#sealed.get(head.session, toSqlText(callId));
    return sealed === undefined ? undefined : fromSqlText(sealed);
  }

  findUnsettled(head: SessionHead, toolName: string, inputDigest: string): readonly string[] {
    return this.#unsettled.all(head.session, toSqlText(toolName), toSqlText(inputDigest)).map(fromSqlText);
  }

  readState(head: SessionHead, subject: string): StoredState | undefined {
    const row = this.#state.get(head.session, toSqlText(subject));
    // What is in the table was written from a JSON object.
    return row && { version: row.version, state: readJsonText(fromSqlText(row.text)) as JsonObject };
  }

  /** The first subject that somebody else has moved. */
  findMoved(moves: readonly Move[], head: SessionHead | undefined): AppendResult | undefined {
    for (const { subject, expectedVersion } of moves) {
      const version =
        head === undefined ? 0 : (this.#state.get(head.session, toSqlText(subject))?.version ?? 0);
      if (version !== expectedVersion) return { status: 'moved', subject, version };
    }
    return undefined;
  }

  /** The first reservation that asks for more than is left. */
  findSpent(reserve: readonly Reservation[]): AppendResult | undefined {
    for (const [index, { counter, amount, limit }] of reserve.entries()) {
      const { used, reserved } = this.readCounter(counter);
      let taken = used + reserved;
      for (const earlier of reserve.slice(0, index)) if (earlier.counter === counter) taken += earlier.amount;
      if (taken + amount > limit) return { status: 'exhausted', counter, used: taken };
    }
    return undefined;
  }

  /** Leaves behind what an entry that was accepted says beside its events. */
  apply(entry: Entry, head: SessionHead): void {
    const { callId, claim, releaseClaim, sealed } = entry;
    if (entry.reserve !== undefined)
      for (const { counter, amount } of entry.reserve) this.#count.run(toSqlText(counter), 0, amount);
    if (entry.settle !== undefined)
      for (const { counter, reserved, used } of entry.settle)
        this.#count.run(toSqlText(counter), used, -reserved);
    if (entry.moves !== undefined)
      for (const { subject, expectedVersion } of entry.moves)
        this.#putState.run(
          head.session,
          toSqlText(subject),
          expectedVersion + 1,
          toSqlText(JSON.stringify(lastState(entry.events, subject))),
        );
    if (releaseClaim !== undefined) this.#dropClaim.run(toSqlText(releaseClaim));
    if (callId === undefined) return;
    if (claim !== undefined)
      this.#putClaim.run(
        toSqlText(claim.key),
        toSqlText(entry.sessionId),
        toSqlText(callId),
        toSqlText(claim.inputDigest),
      );
    if (sealed !== undefined) this.#putSealed.run(head.session, toSqlText(callId), toSqlText(sealed));
    if (entry.dropSealed === true) this.#dropSealed.run(head.session, toSqlText(callId));
  }

  /** Called for what puts an effect in doubt, and for what clears it up. */
  noteEffect(head: SessionHead, event: ToolResponded | ToolResolved, entry: Entry): void {
    const { callId } = event;
    if (event.type === 'tool.resolved') {
      this.#dropUnsettled.run(head.session, toSqlText(callId));
      return;
    }
    const digest = lastInputDigest(entry.events, callId) ?? this.#digestOf(entry.sessionId, callId);
    if (digest === undefined) return;
    this.#heads.hasUnsettled = true;
    this.#putUnsettled.run(
      this.#heads.position,
      head.session,
      toSqlText(event.outcome.toolName),
      toSqlText(digest),
      toSqlText(callId),
    );
  }

  /** Everything a session left here. Named counters are everybody's and stay. */
  dropSession(session: number, sessionId: string): void {
    this.#dropClaimsOf.run(toSqlText(sessionId));
    for (const prefix of sessionCounterPrefixes(sessionId))
      this.#dropCounters.run(prefix, `${prefix}\u{10FFFF}`);
    this.#dropSealedOf.run(session);
    this.#dropUnsettledOf.run(session);
    this.#dropStatesOf.run(session);
  }

  /** What was shown to workflows goes with the bodies it stood in; that they moved stays. */
  emptyStates(session: number): void {
    this.#emptyStatesOf.run(session);
  }

  dropSealed(session: number, callId: string): void {
    this.#dropSealed.run(session, toSqlText(callId));
  }
}
