/**
 * The events of one call while this process works on it: the stored ones, the new ones, and the call that
 * they make. `decide` alone decides, and refuses illegal commands. New events are appended as one entry. If
 * the ledger answers anything but `appended`, the caller drops them with `rewind`.
 */
import type { Call } from '../../call/call.ts';
import type { Command, EventDraft } from '../../call/command.ts';
import type { Subject } from '../../call/decide.ts';
import { decideOrThrow } from '../../call/decide.ts';
import type { EmittedEvent } from '../../call/emitted-event.ts';
import type { CallEvent, LogLine, QuittanceEvent, TurnOpened } from '../../call/event.ts';
import type { CallDraft } from '../../call/evolve.ts';
import { foldCall, toCall } from '../../call/evolve.ts';
import { OwnCall } from '../../call/own-call.ts';
import { stepCall } from '../../call/step-call.ts';
import type { AppendResult, Entry, Move } from '../../ledger/journal.ts';
import type { Awaitable } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import { cutText } from '../../base/cut-text.ts';
import type { Engine } from './engine.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { isCallEvent } from '../../ledger/fold-stored.ts';
import type { TurnState } from './turn-state.ts';
import type { CallObserver } from './call-observer.ts';
import type { UnkeptEnd } from './unkept-end.ts';

/** The part of an append other than events. */
export type EntryExtra = Pick<
  Entry,
  'claim' | 'releaseClaim' | 'reserve' | 'settle' | 'sealed' | 'dropSealed' | 'guards'
>;
export const nothingMore: EntryExtra = Object.freeze({});
const none: readonly never[] = Object.freeze([]);

export class CallJournal implements Subject {
  readonly engine: Engine;
  readonly turn: TurnState;
  readonly callId: string;
  /** The version of the call in the ledger. 0 if it is not stored yet. */
  version = 0;
  /** Does this process own the call? */
  owned = false;
  /** The previous owner, until the takeover is on record. */
  declare previousOwner: string | undefined;
  /** Side problems: the log lines that are stored with the end of the call. */
  declare asides: readonly LogLine[];
  /** The end of the call, if it could not be stored. */
  declare unkept: UnkeptEnd | undefined;
  /**
   * Is the executed form of the input stored sealed? Then `sealedAs` names the stored one, and `sealing` the
   * one about to be stored.
   */
  declare sealed: boolean;
  declare sealedAs: string | undefined;
  declare sealing: string | undefined;

  /** The call before the first event made here. Undefined if it began here. */
  declare private base: Call | undefined;
  private draft: CallDraft | undefined;
  at = 0;
  /** Most calls have four events: V8 reserves room for that many here, but for seventeen if `[]` grows. */
  private made = new Array<QuittanceEvent | EmittedEvent>();
  /** Does an entry of the ledger hold this very list? Then it must not change. */
  private isLent = false;
  private kept = 0;
  declare private moves: readonly Move[];
  declare private onKept: (() => void) | undefined;
  /** What telemetry hears of the call. */
  declare observer: CallObserver | undefined;
  private isFlushing = false;
  /** For a flush that waits until another one is done. */
  declare private flushed: PromiseWithResolvers<void> | undefined;

  /** Few calls have these, so they are on the prototype until they are set. */
  static {
    const unset: Partial<CallJournal> = { asides: none, sealed: false };
    Object.assign(this.prototype, unset, { moves: none });
  }

  constructor(engine: Engine, turn: TurnState, callId: string) {
    this.engine = engine;
    this.turn = turn;
    this.callId = callId;
  }

  /** The call folded from its stored and its new events. Only the journal changes it. */
  get call(): Call | undefined {
    return this.draft && toCall(this.draft);
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
  apply(command: Command | EventDraft): CallEvent {
    this.at = this.engine.ledger.now();
    const event = this.draft === undefined ? this.open(command) : stepCall(this.draft, command, this);
    this.add(event);
    if (event.type === 'tool.requested') this.owned = true;
    return event;
  }

  private open(command: Command | EventDraft): CallEvent {
    const event = decideOrThrow(undefined, command, this);
    if (event.type !== 'tool.requested') throw new TypeError(`A call cannot begin with ${event.type}.`);
    this.draft = new OwnCall(event);
    return event;
  }

  /**
   * Moves a state that calls of the session share with the next append. Its new value is in the last event.
   */
  move(move: Move, events: readonly QuittanceEvent[]): void {
    for (const event of events) this.add(event);
    this.moves = [...this.moves, move];
  }

  /** Adds events of behaviors to the next append. */
  bring(events: readonly (QuittanceEvent | EmittedEvent)[]): void {
    for (const event of events) this.add(event);
  }

  private add(event: QuittanceEvent | EmittedEvent): void {
    if (this.isLent) this.takeBack(this.made.length);
    this.made.push(event);
  }

  /** Continues with a list of its own, up to this length. */
  private takeBack(length: number): void {
    this.made = this.made.slice(0, length);
    this.isLent = false;
  }

  /** Does the next append move a shared state? */
  get isMoving(): boolean {
    return this.moves.length > 0;
  }

  /** Drops all moves, and their events. */
  stay(): void {
    this.moves = none;
    this.made = this.made.filter((event, at) => at < this.kept || isCallEvent(event));
    this.isLent = false;
  }

  /** Events that are not stored yet. */
  get unwritten(): readonly (QuittanceEvent | EmittedEvent)[] {
    return this.made.slice(this.kept);
  }

  /** Are there events that are not stored yet? */
  get isBehind(): boolean {
    return this.kept < this.made.length;
  }

  /** Continues from the stored call. Without its version only remarks may follow. */
  rebase(call: Call, version: number = this.version): void {
    this.base = call;
    this.made = [];
    this.isLent = false;
    this.kept = 0;
    this.draft = { ...call };
    this.version = version;
    this.owned = false;
  }

  /** Continues a call whose owner is gone. This process owns it from the next append on. */
  inherit(call: Call, version: number): void {
    this.rebase(call, version);
    this.owned = true;
  }

  /** Is the call stored without its end, with this process as its last owner? */
  isLeftOpen(): boolean {
    if (!this.owned || this.version === 0) return false;
    if (this.kept < this.made.length) this.rewind(this.kept);
    return this.draft?.status !== 'settled';
  }

  /** The number of events, for `rewind` if an append is refused. */
  mark(): number {
    return this.made.length;
  }

  rewind(mark: number): void {
    this.takeBack(mark);
    this.moves = none;
    const folded = foldCall(this.made.filter(isCallEvent), this.base);
    this.draft = folded && { ...folded };
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
    const { engine } = this;
    const toLate = (events: readonly CallEvent[]): Entry => ({
      entryId: engine.ids.next('ent'),
      sessionId: this.sessionId,
      callId: this.callId,
      expectedVersion: 'any',
      events,
      depth: this.turn.depth === 0 ? undefined : this.turn.depth,
    });
    const late = this.remarkEvent(command);
    try {
      await engine.ledger.journal.append(toLate([late]));
    } catch (error) {
      if (!(error instanceof LedgerTrouble)) throw error;
      const failed = this.remarkEvent({
        type: 'fail_to_persist',
        boundary: 'settle',
        error: cutText(engine.redactor.text(error.message), 500),
        keptIn: 'spill',
      });
      if (!(await engine.ledger.spill.write(toLate([failed, late])))) throw error;
      engine.spill.waiting = true;
    }
  }

  /** The event of a command that does not change the call. */
  private remarkEvent(command: Command): CallEvent {
    this.at = this.engine.ledger.now();
    return decideOrThrow(this.call, command, this);
  }

  /** Appends the events made since the last flush. Synchronous if the ledger is. */
  flush(extra: EntryExtra = nothingMore, expectedVersion?: number | 'any'): Awaitable<AppendResult> {
    if (this.isFlushing) return this.flushNext(extra, expectedVersion);
    const upTo = this.made.length;
    const opening = this.turn.takeOpening();
    let answer: Awaitable<AppendResult> | undefined;
    try {
      const entry = this.toEntry(extra, expectedVersion ?? this.version, opening);
      answer = this.engine.ledger.journal.append(entry);
    } finally {
      if (answer === undefined && opening !== undefined) this.turn.returnOpening(opening);
    }
    return isPromiseLike(answer)
      ? this.finishFlush(answer, upTo, extra, opening)
      : this.noteAnswer(answer, upTo, extra, opening);
  }

  /** A preview may be writing while its call ends: its events come first. */
  private async flushNext(extra: EntryExtra, expectedVersion?: number | 'any'): Promise<AppendResult> {
    while (this.isFlushing) await (this.flushed ??= Promise.withResolvers<void>()).promise;
    return this.flush(extra, expectedVersion);
  }

  private finishFlush(
    answer: PromiseLike<AppendResult>,
    upTo: number,
    extra: EntryExtra,
    opening: TurnOpened | undefined,
  ): PromiseLike<AppendResult> {
    this.isFlushing = true;
    return answer.then(
      (result) => {
        this.endFlush();
        return this.noteAnswer(result, upTo, extra, opening);
      },
      (error: unknown) => {
        if (opening !== undefined) this.turn.returnOpening(opening);
        this.endFlush();
        this.engine.starts.noteAnswer();
        throw error;
      },
    );
  }

  private endFlush(): void {
    this.isFlushing = false;
    const { flushed } = this;
    if (flushed === undefined) return;
    this.flushed = undefined;
    flushed.resolve();
  }

  private noteAnswer(
    result: AppendResult,
    upTo: number,
    extra: EntryExtra,
    opening: TurnOpened | undefined,
  ): AppendResult {
    this.engine.starts.noteAnswer();
    if (result.status === 'appended') this.noteKept(upTo, result.version, extra.sealed !== undefined);
    else if (opening !== undefined) this.turn.returnOpening(opening);
    return result;
  }

  /** Writes the new events to the spill file. Returns false if that fails. */
  async spill(extra: EntryExtra): Promise<boolean> {
    const upTo = this.made.length;
    const kept = await this.engine.ledger.spill.write(this.toEntry(extra, this.version, undefined));
    if (kept) this.noteKept(upTo, this.version + 1);
    return kept;
  }

  /** Resolves once the call is stored. */
  whenKept(): Promise<void> {
    if (this.version > 0) return Promise.resolve();
    return new Promise((resolve) => {
      const others = this.onKept;
      this.onKept = () => {
        this.onKept = undefined;
        others?.();
        resolve();
      };
    });
  }

  private toEntry(
    extra: EntryExtra,
    expectedVersion: number | 'any',
    opening: TurnOpened | undefined,
  ): Entry {
    const entryId = this.engine.ids.next('ent');
    const { sessionId, callId, moves } = this;
    const { depth } = this.turn;
    const events = this.toStore(opening);
    // Most entries hold only events.
    if (extra === nothingMore && moves.length === 0 && depth === 0)
      return { entryId, sessionId, callId, expectedVersion, events };
    return {
      entryId,
      sessionId,
      callId,
      expectedVersion,
      events,
      claim: extra.claim,
      releaseClaim: extra.releaseClaim,
      reserve: extra.reserve,
      settle: extra.settle,
      sealed: extra.sealed,
      dropSealed: extra.dropSealed,
      moves: moves.length === 0 ? undefined : moves,
      guards: extra.guards,
      depth: depth === 0 ? undefined : depth,
    };
  }

  private toStore(opening: TurnOpened | undefined): Entry['events'] {
    if (opening !== undefined) return [opening, ...this.made.slice(this.kept)];
    // Hardly anything follows the end of a call, so its list need not be copied.
    if (this.kept > 0 || this.call?.status !== 'settled') return this.made.slice(this.kept);
    this.isLent = true;
    return this.made;
  }

  private noteKept(upTo: number, version: number, sealed = false): void {
    this.version = version;
    if (sealed) {
      this.sealed = true;
      this.sealedAs = this.sealing;
    }
    if (this.observer?.isRecording === true) this.observer.noteStored(this.made.slice(this.kept, upTo));
    this.kept = upTo;
    if (this.moves.length > 0) this.moves = none;
    this.onKept?.();
  }
}
