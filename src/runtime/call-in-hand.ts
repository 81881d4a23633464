/**
 * One call while this process works on it: the facts gathered so far, the call its events give, and the
 * events not yet appended. Nothing here decides: `decide` does, and refuses what is not legal.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { Command } from '../call/command.ts';
import { decide } from '../call/decide.ts';
import type { Subject } from '../call/decide.ts';
import type {
  Ask,
  CallEvent,
  GatePassage,
  InputChange,
  LogLine,
  Provenance,
  QuittanceEvent,
  RuleMark,
  TurnOpened,
} from '../call/event.ts';
import type { DataOf } from '../call/event-data.ts';
import type { CallDraft } from '../call/evolve.ts';
import { advance, begin, foldCall } from '../call/evolve.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { ParsedToolCall } from '../call/tool-call.ts';
import type { AppendResult, Claim, Entry, Move } from '../ledger/ledger.ts';
import type { Policy } from '../policy/compile-policy.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { Principal } from '../tool/tool-context.ts';
import { isPromiseLike } from '../tool/when-ready.ts';
import type { Share } from './budget.ts';
import { noShares } from './budget.ts';
import type { CallerFacts } from './caller-facts.ts';
import { readCallerFacts } from './caller-facts.ts';
import type { ReadAnswer } from './confirm.ts';
import type { Engine } from './engine.ts';
import { cleanBytes } from './clean-bytes.ts';
import { collectHidden, longestFirst, scrubJson, scrubText } from './hidden-values.ts';
import { isCallEvent } from './fold-stored.ts';
import { judgedInput } from './judged-input.ts';
import type { KeptInput } from './kept-input.ts';
import type { Snapshot } from './snapshot.ts';
import type { Told } from './told.ts';
import type { TurnState } from './turn-state.ts';
import { undoneCallId } from './undo-tool.ts';
import type { GrantInUse } from './grant-in-use.ts';
import type { WorkflowStep } from './workflow-step.ts';

/** What may be said about one call beside the envelope. */
export type CallOptions = {
  /** Metadata of the call: on its record, and there for policy. */
  readonly attrs?: JsonObject;
  readonly principal?: Principal;
  readonly provenance?: Provenance;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (update: Progress) => void;
};
export type Progress = { readonly callId: string; readonly message?: string; readonly fraction?: number };

/** The input once the schema has accepted it. */
export type PreparedInput = {
  /** As it is kept: after coercion, artifacts still named. Same object as the requested one where nothing changed. */
  readonly effective: KeptInput;
  /** The exact input behind `effective`, before redaction. */
  readonly effectiveInput: JsonObject;
  /** With artifacts filled in. Never handed to the body. */
  readonly checked: JsonObject;
  /** What the body gets: the schema's own reading of the input. */
  readonly executed: unknown;
  readonly changes: readonly InputChange[];
};

export type Unkept = {
  readonly outcome: ToolOutcome;
  readonly attempt: Pick<DataOf<'tool.responded'>, 'costMicros' | 'reached' | 'log' | 'payloadExtras'>;
};

const none: readonly never[] = Object.freeze([]);
/** What goes into an append beside events. */
export type EntryExtra = Pick<
  Entry,
  'claim' | 'releaseClaim' | 'reserve' | 'settle' | 'sealed' | 'dropSealed' | 'guards'
>;
const nothingMore: EntryExtra = Object.freeze({});

export class CallInHand implements Subject {
  readonly engine: Engine;
  readonly turn: TurnState;
  /** As it came; with other arguments once a person edited them. */
  request: ParsedToolCall;
  readonly options: CallOptions;
  readonly facts: CallerFacts;
  tool: AnyTool | undefined;
  readonly requested: KeptInput;
  /** The call it is to undo. */
  readonly undoes: string | undefined;
  readonly submitted: boolean;
  /** Takes a place among the parallel calls of a batch before the body runs; gives it back with the result. */
  readonly takePlace: (() => Promise<() => void>) | undefined;

  version = 0;
  /** The call before the first event made here; undefined where it began here. */
  private base: Call | undefined;
  private draft: CallDraft | undefined;
  private made: (QuittanceEvent | EmittedEvent)[] = [];
  private kept = 0;
  private lastJudged: { readonly of: PreparedInput; readonly value: JsonObject } | undefined;
  private hidden: { readonly of: KeptInput; readonly values: readonly string[] } | undefined;

  prepared: PreparedInput | undefined;
  notes: readonly string[] = none;
  asks: readonly Ask[] = none;
  passages: readonly GatePassage[] = none;
  /** The rules the call is judged by: those in force when it came, and again when a person agreed to it. */
  policy: Policy | undefined;
  /** What rules said before the body ran, and about what it gave. */
  rules: readonly RuleMark[] = none;
  outputRules: readonly RuleMark[] = none;
  /** Whether the rules have looked at it. */
  ruled = false;
  workflowSteps: readonly WorkflowStep[] = none;
  private moves: readonly Move[] = none;
  /** The standing permission that answers for a person. */
  grant: GrantInUse | undefined;
  lastGate = 'recall';
  /** How often the arguments were sent to repair. */
  repairs = 0;
  costMicros = 0;
  /** What an attempt cost whose end nobody saw. */
  lostCostMicros = 0;
  shares: readonly Share[] = noShares;
  /** The key a tool made of its arguments, and the claim on it. */
  toolKey: string | undefined;
  claimKey: string | undefined;
  resourceKeys: readonly string[] | undefined;
  /** Whether the executed form of the input is kept sealed; which it is, and which is about to be. */
  sealed = false;
  sealedAs: string | undefined;
  sealing: string | undefined;
  /** What the last preview would have the body do. */
  snapshot: Snapshot | undefined;
  /** Stops the preview that is being made: nothing of it is kept any more. */
  abandon: (() => void) | undefined;
  /** The preview whose tool knows that nothing comes of it. */
  letGoOf: string | undefined;
  /** What went wrong beside the call: for its log. */
  asides: readonly LogLine[] = none;
  /** Calls that did the same and whose effect is not known. */
  twins: readonly string[] = none;
  /** The one of them whose claim on the key passes to this call. */
  supersedes: Claim['supersedes'] | undefined;

  /** Why somebody wants the call to end early. */
  cancelled: string | undefined;
  onCancel: (() => void) | undefined;
  /** Whether this runtime has stopped waiting for another process that runs the call. */
  left = false;
  onLeave: (() => void) | undefined;
  /** The question the host's decider was asked, and what it says. */
  askedOf: string | undefined;
  answering: Promise<ReadAnswer> | undefined;
  /** Digest of the edited arguments that are in use. */
  adopted: string | undefined;
  /** Takes the question back, while one is open. */
  withdraw: ((reason: string) => void) | undefined;
  told: Promise<Told> | undefined;
  /** What was told where the ledger could not take the end of a body that ran. */
  unkept: Unkept | undefined;
  /** Whether this process makes the call, and nobody else. */
  owned = false;
  private onKept: (() => void) | undefined;
  private flushing: PromiseWithResolvers<void> | undefined;

  constructor(
    engine: Engine,
    turn: TurnState,
    request: ParsedToolCall,
    requested: KeptInput,
    options: CallOptions,
    mode: {
      readonly submitted: boolean;
      readonly takePlace: (() => Promise<() => void>) | undefined;
      readonly tool?: AnyTool | undefined;
    },
  ) {
    this.engine = engine;
    this.turn = turn;
    this.request = request;
    this.requested = requested;
    this.options = options;
    this.facts = readCallerFacts(options, turn.facts, engine.redactor);
    this.policy = engine.policyInForce();
    this.tool = mode.tool ?? engine.toolFor(request.name, this.policy);
    this.undoes = mode.tool === undefined ? undefined : undoneCallId(request.id);
    this.submitted = mode.submitted;
    this.takePlace = mode.takePlace;
  }

  get call(): Call | undefined {
    return this.draft;
  }

  get sessionId(): string {
    return this.turn.sessionId;
  }
  get turnId(): string {
    return this.turn.turnId;
  }
  get callId(): string {
    return this.request.id;
  }
  get at(): number {
    return this.engine.ledger.now();
  }
  get nextId(): () => string {
    return this.engine.nextEventId;
  }

  /** The tool, for whoever comes after it was resolved. */
  get knownTool(): AnyTool {
    if (this.tool === undefined) throw new TypeError(`Call ${this.request.id} names no known tool.`);
    return this.tool;
  }

  /** The input, for whoever comes after it was validated. */
  get input(): PreparedInput {
    if (this.prepared === undefined) throw new TypeError(`Call ${this.request.id} has no validated input.`);
    return this.prepared;
  }

  /** What hooks and rules judge the call by. */
  get judged(): JsonObject {
    const { input } = this;
    if (this.lastJudged?.of !== input)
      this.lastJudged = { of: input, value: judgedInput(input.checked, input.executed) };
    return this.lastJudged.value;
  }

  /** What a behaviour called it for. */
  get origin(): string | undefined {
    return this.turn.origin;
  }

  get principal(): Principal | undefined {
    return this.facts.principal;
  }

  /** Turns a command into its event. A refusal here is a mistake of ours, not of a user. */
  apply(command: Command): CallEvent {
    const decision = decide(this.draft, command, this);
    if (!decision.ok) throw new TypeError(`${command.type} of call ${this.request.id}: ${decision.refusal}`);
    const { event } = decision;
    this.draft = this.draft === undefined ? begin(event) : advance(this.draft, event);
    this.made.push(event);
    if (command.type === 'request') this.owned = true;
    return event;
  }

  /** Has something that calls of the session share move with the next append: where to is in the last event. */
  move(move: Move, events: readonly QuittanceEvent[]): void {
    for (const event of events) this.made.push(event);
    this.moves = [...this.moves, move];
  }

  /** Has something told by behaviours kept with whatever is appended next. */
  bring(events: readonly (QuittanceEvent | EmittedEvent)[]): void {
    for (const event of events) this.made.push(event);
  }

  /** Whether the next append moves anything. */
  get isMoving(): boolean {
    return this.moves.length > 0;
  }

  /** Leaves everything where it is. */
  stay(): void {
    this.moves = none;
    this.made = this.made.filter((event, at) => at < this.kept || isCallEvent(event));
  }

  /** Wishes for a person. */
  ask(ask: Ask): void {
    this.asks = [...this.asks, ask];
  }

  /** Forgets what gates that are to be walked again have found. */
  lookAgain(): void {
    this.asks = none;
    this.twins = none;
    this.supersedes = undefined;
    this.grant = undefined;
  }

  /** Puts something that went wrong beside the call into its log. */
  aside(message: string): void {
    this.asides = [...this.asides, { at: this.at, message: this.clean(message).slice(0, 2_000) }];
  }

  /** Whether events were made that the ledger does not have. */
  get isBehind(): boolean {
    return this.kept < this.made.length;
  }

  /** Has the model told something beside the tabled content. */
  note(text: string): void {
    this.notes = [...this.notes, text];
  }

  /** Goes on from what the ledger has. Without its version only remarks may follow. */
  rebase(call: Call, version: number = this.version): void {
    this.base = call;
    this.made = [];
    this.kept = 0;
    this.draft = { ...call };
    this.version = version;
    this.owned = false;
  }

  /** Goes on with a call whose owner is gone, from what the ledger has of it: it is ours from the next append on. */
  inherit(call: Call, version: number): void {
    this.rebase(call, version);
    this.owned = true;
  }

  /** Goes on with a call of ours that stopped because the ledger did, from what the ledger has of it. */
  takeOver(left: CallInHand, call: Call, version: number): void {
    this.rebase(call);
    this.version = version;
    this.owned = true;
    this.sealed = left.sealed;
    this.sealedAs = left.sealedAs;
    if (call.status === 'requested') return;
    this.prepared = left.prepared;
    this.snapshot = left.snapshot;
    this.notes = left.notes;
    this.costMicros = left.costMicros;
    this.shares = left.shares;
    this.toolKey = left.toolKey;
    this.claimKey = left.claimKey;
    this.twins = left.twins;
    this.supersedes = left.supersedes;
  }

  /** Whether the ledger has the call without its end, and nobody works on it any more once we stop. */
  isLeftOpen(): boolean {
    if (!this.owned || this.version === 0) return false;
    if (this.kept < this.made.length) this.rewind(this.kept);
    return this.draft?.status !== 'settled';
  }

  /** How many events were made; to `rewind` to, should an append be refused. */
  mark(): number {
    return this.made.length;
  }

  rewind(mark: number): void {
    this.made.length = mark;
    this.moves = none;
    this.draft = foldCall(this.made.filter(isCallEvent), this.base);
  }

  /** Appends a remark: a fact that changes nothing about the call, and so cannot come too late or too early. */
  async remark(command: Command & { type: 'recall' }): Promise<AppendResult> {
    const mark = this.mark();
    this.apply(command);
    const result = await this.flush({}, 'any');
    if (result.status !== 'appended') this.rewind(mark);
    return result;
  }

  /** Keeps a late result. By itself: another attempt of the call may be under way. */
  async addLate(command: Command & { type: 'add_late' }): Promise<void> {
    const decision = decide(this.draft, command, this);
    if (!decision.ok) throw new TypeError(`add_late of call ${this.request.id}: ${decision.refusal}`);
    await this.engine.ledger.append({
      entryId: this.engine.ids.next('ent'),
      sessionId: this.sessionId,
      callId: this.callId,
      expectedVersion: 'any',
      events: [decision.event],
      depth: this.turn.depth === 0 ? undefined : this.turn.depth,
    });
  }

  /** Appends what was made since the last time. After any other answer than `appended` nothing of it is kept. */
  async flush(extra: EntryExtra = nothingMore, expectedVersion?: number | 'any'): Promise<AppendResult> {
    // What a preview is writing while its call ends comes first.
    while (this.flushing !== undefined) await this.flushing.promise;
    const { turn, engine } = this;
    const upTo = this.made.length;
    const opening = turn.takeOpening();
    let result: AppendResult | undefined;
    let flushing: PromiseWithResolvers<void> | undefined;
    try {
      const from = expectedVersion ?? this.version;
      const answer = engine.ledger.append(this.toEntry(extra, from, opening));
      if (isPromiseLike(answer)) {
        flushing = this.flushing = Promise.withResolvers<void>();
        result = await answer;
      } else result = answer;
      return result;
    } finally {
      this.flushing = undefined;
      if (result?.status === 'appended') this.noteKept(upTo, result.version, extra.sealed !== undefined);
      else if (opening !== undefined) turn.returnOpening(opening);
      flushing?.resolve();
    }
  }

  /** Puts what was made since the last time where it waits for a ledger that can take it. False where it cannot. */
  async spill(extra: EntryExtra): Promise<boolean> {
    const upTo = this.made.length;
    const kept = await this.engine.ledger.spill(this.toEntry(extra, this.version, undefined));
    if (kept) this.noteKept(upTo, this.version + 1);
    return kept;
  }

  private toEntry(
    extra: EntryExtra,
    expectedVersion: number | 'any',
    opening: TurnOpened | undefined,
  ): Entry {
    const events = this.made.slice(this.kept);
    if (opening !== undefined) events.unshift(opening);
    return {
      entryId: this.engine.ids.next('ent'),
      sessionId: this.turn.sessionId,
      callId: this.request.id,
      expectedVersion,
      events,
      claim: extra.claim,
      releaseClaim: extra.releaseClaim,
      reserve: extra.reserve,
      settle: extra.settle,
      sealed: extra.sealed,
      dropSealed: extra.dropSealed,
      moves: this.moves.length === 0 ? undefined : this.moves,
      guards: extra.guards,
      depth: this.turn.depth === 0 ? undefined : this.turn.depth,
    };
  }

  private noteKept(upTo: number, version: number, sealed = false): void {
    this.version = version;
    if (sealed) {
      this.sealed = true;
      this.sealedAs = this.sealing;
    }
    this.kept = upTo;
    this.moves = none;
    this.onKept?.();
  }

  /** Text that is about to be kept or told, without what the redactor hides, wherever it was echoed. */
  clean(text: string): string {
    return scrubText(this.engine.redactor.text(text), this.hiddenValues());
  }

  cleanObject(value: JsonObject): JsonObject {
    const { value: kept } = this.engine.redactor.input(value);
    return scrubJson(kept, this.hiddenValues()) as JsonObject; // neither makes an object anything else
  }

  /** Bytes that are text are cleaned as text; in others, what is hidden in the input is blotted out. */
  cleanBytes(bytes: Uint8Array): Uint8Array {
    return cleanBytes(bytes, (text) => this.clean(text), this.hiddenValues());
  }

  cleanOutput(output: JsonValue): JsonValue {
    const { value: kept } = this.engine.redactor.output(output, this.tool?.redact?.output);
    return scrubJson(kept, this.hiddenValues());
  }

  /** What a workflow was shown, without what is hidden. Its keys are names of stages and tools, not of secrets. */
  cleanState(state: JsonObject): JsonObject {
    const { value: kept } = this.engine.redactor.output(state);
    return scrubJson(kept, this.hiddenValues()) as JsonObject; // neither makes an object anything else
  }

  /** Of the input as it came, as it was mended, of the snapshot, and of what the caller said beside it. */
  hiddenValues(): readonly string[] {
    const more = this.snapshot?.hiddenValues ?? none;
    const ofInput = this.hiddenInInput();
    return more.length === 0 ? ofInput : longestFirst([...ofInput, ...more]);
  }

  private hiddenInInput(): readonly string[] {
    const { request, requested, prepared, facts } = this;
    const effective = prepared?.effective ?? requested;
    if (requested.hidden.length === 0 && effective.hidden.length === 0) return facts.hidden;
    if (this.hidden?.of === effective) return this.hidden.values;
    const { input } = request;
    const values = longestFirst([
      ...facts.hidden,
      ...collectHidden(input.ok ? input.arguments : input.raw, requested.kept),
      ...(prepared === undefined ? [] : collectHidden(prepared.effectiveInput, prepared.effective.kept)),
    ]);
    this.hidden = { of: effective, values };
    return values;
  }

  /** What the model should know beside the tabled content, as a field of the outcome. */
  modelNote(): { readonly modelNote?: string } {
    return this.notes.length === 0 ? {} : { modelNote: this.notes.join(' ') };
  }

  /** Resolves once the ledger knows of the call. */
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

  /** Stops waiting for another process that runs the call; everything else about it goes on. */
  leave(): void {
    this.left = true;
    this.onLeave?.();
  }

  cancel(reason: string): void {
    if (this.cancelled !== undefined || this.call?.status === 'settled') return;
    this.cancelled = reason;
    this.onCancel?.();
  }
}
