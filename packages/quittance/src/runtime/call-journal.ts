/**
 * The journal of one call: its stored events, its new events, and the call folded from both. Only `decide` creates call
 * events, and it refuses illegal commands. New events are appended as one entry. If the ledger answers anything but
 * `appended`, the caller drops them with `rewind`.
 */
import { cutText } from '../base/cut-text.ts';
import type { Call } from '../call/call.ts';
import type { Command, Subject } from '../call/decide.ts';
import { decideOrThrow } from '../call/decide.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { CallEvent, QuittanceEvent } from '../call/event.ts';
import type { LogLine } from '../call/events/attempt-event.ts';
import type { TurnOpened } from '../call/events/session-event.ts';
import { evolve, foldCall } from '../call/evolve.ts';
import { isCallEvent } from '../ledger/fold-stored.ts';
import type { AppendResult, Entry, Move } from '../ledger/journal.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import type { CallObserver } from './call-observer.ts';
import type { Engine } from './engine.ts';
import type { TurnState } from './turn-state.ts';
import type { EventDataOf } from '../call/event-data.ts';
import type { ToolOutcome } from '../call/outcome.ts';

/** The part of an append other than events. */
export type EntryExtra = Pick<
  Entry,
  'claim' | 'releaseClaim' | 'reserve' | 'settle' | 'sealed' | 'dropSealed' | 'guards'
>;

const none: readonly never[] = Object.freeze([]);

export class CallJournal implements Subject {
  readonly engine: Engine;
  readonly turn: TurnState;
  readonly callId: string;
  /** The call folded from its stored and its new events. */
  call: Call | undefined;
  /** The version of the call in the ledger. 0 if it is not stored yet. */
  version = 0;
  /** True if this process owns the call. */
  owned = false;
  /** The previous owner, until the takeover is on record. */
  previousOwner: string | undefined;
  /** Problems that did not stop the call: log lines that are stored with its end. */
  problems: readonly LogLine[] = none;
  /** The end of the call, if it could not be stored. */
  unkept: UnkeptEnd | undefined;
  /**
   * True if the executed form of the input is stored sealed. `sealedAs` names the stored payload, `sealing` the payload
   * about to be stored.
   */
  sealed = false;
  sealedAs: string | undefined;
  sealing: string | undefined;
  /** Reports the call to telemetry. */
  observer: CallObserver | undefined;
  at = 0;

  /** The call before the events that are not stored yet. */
  #base: Call | undefined;
  /** The events that are not stored yet. */
  #events: (QuittanceEvent | EmittedEvent)[] = [];
  /** How many were stored before them. */
  #stored = 0;
  #moves: readonly Move[] = none;
  #writing: Promise<AppendResult> | undefined;
  #whenStored: (() => void)[] | undefined;

  constructor(engine: Engine, turn: TurnState, callId: string) {
    this.engine = engine;
    this.turn = turn;
    this.callId = callId;
  }

  // For `decide`: the journal itself says which call its events are about.
  get sessionId(): string {
    return this.turn.sessionId;
  }
  get turnId(): string {
    return this.turn.turnId;
  }
  get origin(): string | undefined {
    return this.turn.origin;
  }
  nextId(): string {
    return this.engine.nextEventId();
  }

  /** Turns a command into its event. A refusal here is a bug in the runtime. */
  apply(command: Command): CallEvent {
    const event = this.#decide(command);
    this.call = evolve(this.call, event);
    this.#events.push(event);
    if (event.type === 'tool.requested') this.owned = true;
    return event;
  }

  #decide(command: Command): CallEvent {
    this.at = this.engine.ledger.now();
    return decideOrThrow(this.call, command, this);
  }

  /**
   * Changes a state shared by the calls of the session, in the next append. Its new value is in the last event.
   */
  move(move: Move, events: readonly QuittanceEvent[]): void {
    this.#events.push(...events);
    this.#moves = [...this.#moves, move];
  }

  /** Adds events of behaviors to the next append. */
  bring(events: readonly (QuittanceEvent | EmittedEvent)[]): void {
    this.#events.push(...events);
  }

  /** True if the next append changes a shared state. */
  get isMoving(): boolean {
    return this.#moves.length > 0;
  }

  /** Drops all changes of shared states, and their events. */
  dropMoves(): void {
    this.#moves = none;
    this.#events = this.#events.filter(isCallEvent);
  }

  /** Events that are not stored yet. */
  get unwritten(): readonly (QuittanceEvent | EmittedEvent)[] {
    return this.#events;
  }

  /** Continues from the stored call. Without its version only remarks may follow. */
  rebase(call: Call, version: number = this.version): void {
    this.#base = call;
    this.#events = [];
    this.#stored = 0;
    this.call = call;
    this.version = version;
    this.owned = false;
  }

  /** Drops the record from memory while the call waits. `inherit` sets it again. */
  dropRecord(): void {
    this.#base = undefined;
    this.call = undefined;
  }

  /** Continues a call whose owner is gone. This process owns it from the next append on. */
  inherit(call: Call, version: number): void {
    this.rebase(call, version);
    this.owned = true;
  }

  /** True if the call is stored without its end and this process is its last owner. */
  isLeftOpen(): boolean {
    if (!this.owned || this.version === 0) return false;
    if (this.#events.length > 0) this.rewind(this.#stored);
    return this.call?.status !== 'settled';
  }

  /** The number of events so far, for `rewind` if an append is refused. */
  mark(): number {
    return this.#stored + this.#events.length;
  }

  rewind(mark: number): void {
    this.#events = this.#events.slice(0, Math.max(0, mark - this.#stored));
    this.#moves = none;
    this.call = foldCall(this.#events.filter(isCallEvent), this.#base);
  }

  /** Appends a remark: a fact that does not change the call, so its order does not matter. */
  async remark(command: Command & { type: 'recall' }): Promise<AppendResult> {
    const mark = this.mark();
    this.apply(command);
    const result = await this.flush({}, 'any');
    if (result.status !== 'appended') this.rewind(mark);
    this.observer?.noteRecall(command.how);
    return result;
  }

  /**
   * Stores a late result in its own entry, because another attempt may be running. Spilled if the ledger
   * fails.
   */
  async addLate(command: Command & { type: 'add_late' }): Promise<void> {
    const { engine, sessionId, callId } = this;
    const toLate = (events: readonly CallEvent[]): Entry => ({
      entryId: engine.ids.next('ent'),
      sessionId,
      callId,
      expectedVersion: 'any',
      events,
      ...this.#depth,
    });
    const late = this.#decide(command);
    try {
      await engine.ledger.append(toLate([late]));
    } catch (error) {
      if (!(error instanceof LedgerTrouble)) throw error;
      const failed = this.#decide({
        type: 'fail_to_persist',
        boundary: 'settle',
        error: cutText(engine.redactor.text(error.message), 500),
        keptIn: 'spill',
      });
      if (!(await engine.ledger.spill.write(toLate([failed, late])))) throw error;
      engine.spill.waiting = true;
    }
  }

  /** Appends the events made since the last flush. */
  async flush(extra: EntryExtra = {}, expectedVersion?: number | 'any'): Promise<AppendResult> {
    // A preview may be writing while its call ends: its events come first.
    while (this.#writing !== undefined) await this.#writing.catch(() => undefined);
    const upTo = this.mark();
    const opening = this.turn.takeOpening();
    const entry = this.#toEntry(extra, expectedVersion ?? this.version, opening);
    const writing = this.engine.ledger.append(entry);
    this.#writing = writing;
    let result: AppendResult | undefined;
    try {
      result = await writing;
      if (result.status === 'appended') this.#noteStored(upTo, result.version, extra.sealed !== undefined);
      return result;
    } finally {
      this.#writing = undefined;
      this.engine.starts.noteAnswer();
      if (opening !== undefined && result?.status !== 'appended') this.turn.returnOpening(opening);
    }
  }

  /** Writes the new events to the spill file. Returns false if that fails. */
  async spill(extra: EntryExtra): Promise<boolean> {
    const upTo = this.mark();
    const kept = await this.engine.ledger.spill.write(this.#toEntry(extra, this.version, undefined));
    if (kept) this.#noteStored(upTo, this.version + 1, false);
    return kept;
  }

  /** Resolves once the call is stored. */
  async whenStored(): Promise<void> {
    if (this.version === 0) await new Promise<void>((resolve) => (this.#whenStored ??= []).push(resolve));
  }

  #toEntry(extra: EntryExtra, expectedVersion: number | 'any', opening: TurnOpened | undefined): Entry {
    return {
      entryId: this.engine.ids.next('ent'),
      sessionId: this.sessionId,
      callId: this.callId,
      expectedVersion,
      events: opening === undefined ? this.unwritten : [opening, ...this.unwritten],
      ...extra,
      ...(this.#moves.length > 0 && { moves: this.#moves }),
      ...this.#depth,
    };
  }

  get #depth(): { readonly depth?: number } {
    const { depth } = this.turn;
    return depth === 0 ? {} : { depth };
  }

  #noteStored(upTo: number, version: number, sealed: boolean): void {
    this.version = version;
    if (sealed) {
      this.sealed = true;
      this.sealedAs = this.sealing;
    }
    const written = this.#events.slice(0, upTo - this.#stored);
    this.observer?.noteStored(written);
    // Stored events are dropped from memory: a call may wait for a person for days.
    this.#events = this.#events.slice(written.length);
    this.#base = this.#events.length === 0 ? this.call : foldCall(written.filter(isCallEvent), this.#base);
    this.#stored = upTo;
    this.#moves = none;
    for (const resolve of this.#whenStored ?? none) resolve();
    this.#whenStored = undefined;
  }
}

/** The record of an attempt without its outcome. */
export type AttemptRecord = Pick<
  EventDataOf<'tool.responded'>,
  'costMicros' | 'reached' | 'log' | 'payloadExtras'
>;

/** The end of a body that neither the ledger nor the spill file could store. */
export type UnkeptEnd = {
  /** The outcome that the caller got. */
  readonly reply: ToolOutcome;
  /** Tries again to store it. Leaves the call unchanged if the ledger still fails. */
  readonly settle: () => Promise<void>;
};
