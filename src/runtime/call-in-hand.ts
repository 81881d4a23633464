/**
 * One call while this process works on it: the facts gathered so far, the call its events give, and the
 * events not yet appended. Nothing here decides: `decide` does, and refuses what is not legal.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { Command } from '../call/command.ts';
import { decide } from '../call/decide.ts';
import type { Subject } from '../call/decide.ts';
import type { Ask, CallEvent, GatePassage, InputChange, Provenance, QuittanceEvent } from '../call/event.ts';
import { evolve } from '../call/evolve.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { ParsedToolCall } from '../call/tool-call.ts';
import type { AppendResult, Entry } from '../ledger/ledger.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { BudgetShare } from './budget.ts';
import { noShares } from './budget.ts';
import type { Engine } from './engine.ts';
import { collectHidden, scrubJson, scrubText } from './hidden-values.ts';
import type { KeptInput } from './kept-input.ts';
import type { TurnState } from './turn-state.ts';

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

/** A call that waits for a person. `rest` is its way to the outcome. */
export type HeldCall = {
  readonly type: 'held';
  readonly confirmationId: string;
  readonly rest: Promise<ToolOutcome>;
};
export type Told = ToolOutcome | HeldCall;

/** The input once the schema has accepted it. */
export type PreparedInput = {
  /** As it is kept: after coercion, artifacts still named. Same object as the requested one where nothing changed. */
  readonly effective: KeptInput;
  /** The exact input behind `effective`, before redaction. */
  readonly effectiveInput: JsonObject;
  /** With artifacts filled in: what policy looks at. Never handed to the body. */
  readonly checked: JsonObject;
  /** What the body gets: the schema's own reading of the input. */
  readonly executed: unknown;
  readonly changes: readonly InputChange[];
};

type Mark = { readonly call: Call | undefined; readonly pending: number };

export class CallInHand {
  readonly engine: Engine;
  readonly turn: TurnState;
  readonly request: ParsedToolCall;
  readonly options: CallOptions;
  readonly tool: AnyTool | undefined;
  readonly requested: KeptInput;
  readonly submitted: boolean;
  /** Takes a place among the parallel calls of a batch before the body runs; gives it back with the result. */
  readonly takePlace: (() => Promise<() => void>) | undefined;

  call: Call | undefined;
  version = 0;
  private pending: QuittanceEvent[] = [];

  prepared: PreparedInput | undefined;
  readonly notes: string[] = [];
  asks: Ask[] = [];
  passages: GatePassage[] = [];
  costMicros = 0;
  shares: readonly BudgetShare[] = noShares;
  /** The key a tool made of its arguments, and the claim on it. */
  toolKey: string | undefined;
  claimKey: string | undefined;
  resourceKeys: readonly string[] | undefined;
  /** Whether the executed form of the input is kept sealed. */
  sealed = false;
  /** Calls that did the same and whose effect is not known. */
  twins: readonly string[] = [];
  /** The one of them whose claim on the key passes to this call. */
  supersedes: string | undefined;

  /** Why somebody wants the call to end early. */
  cancelled: string | undefined;
  onCancel: (() => void) | undefined;
  /** Takes the question back, while one is open. */
  withdraw: ((reason: string) => void) | undefined;
  told: Promise<Told> | undefined;
  private onKept: (() => void) | undefined;

  constructor(
    engine: Engine,
    turn: TurnState,
    request: ParsedToolCall,
    requested: KeptInput,
    options: CallOptions,
    mode: { readonly submitted: boolean; readonly takePlace: (() => Promise<() => void>) | undefined },
  ) {
    this.engine = engine;
    this.turn = turn;
    this.request = request;
    this.requested = requested;
    this.options = options;
    this.tool = engine.tools.get(request.name);
    this.submitted = mode.submitted;
    this.takePlace = mode.takePlace;
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

  get principal(): Principal | undefined {
    return this.options.principal ?? this.turn.principal;
  }

  /** Turns a command into its event. A refusal here is a mistake of ours, not of a user. */
  apply(command: Command): CallEvent {
    const subject: Subject = {
      sessionId: this.turn.sessionId,
      turnId: this.turn.turnId,
      callId: this.request.id,
      at: this.engine.ledger.now(),
      nextId: this.engine.nextEventId,
    };
    const decision = decide(this.call, command, subject);
    if (!decision.ok) throw new TypeError(`${command.type} of call ${this.request.id}: ${decision.refusal}`);
    this.call = evolve(this.call, decision.event);
    this.pending.push(decision.event);
    return decision.event;
  }

  /** Remembers where we are, so that an append that was refused can be taken back. */
  mark(): Mark {
    return { call: this.call, pending: this.pending.length };
  }

  rewind(mark: Mark): void {
    this.call = mark.call;
    this.pending.length = mark.pending;
  }

  /** Appends a remark: a fact that changes nothing about the call, and so cannot come too late or too early. */
  async remark(command: Command & { type: 'recall' | 'add_late' }): Promise<AppendResult> {
    const mark = this.mark();
    this.apply(command);
    const result = await this.flush({}, 'any');
    if (result.status !== 'appended') this.rewind(mark);
    return result;
  }

  /** Appends what is pending. After any other answer than `appended` nothing of it is kept. */
  async flush(
    extra: Omit<Entry, 'entryId' | 'sessionId' | 'callId' | 'expectedVersion' | 'events'> = {},
    expectedVersion: number | 'any' = this.version,
  ): Promise<AppendResult> {
    const opening = this.turn.takeOpening();
    const events = opening === undefined ? this.pending : [opening, ...this.pending];
    let result: AppendResult;
    try {
      result = await this.engine.ledger.append({
        ...extra,
        entryId: this.engine.ids.next('ent'),
        sessionId: this.turn.sessionId,
        callId: this.request.id,
        expectedVersion,
        events,
      });
    } catch (error) {
      if (opening !== undefined) this.turn.returnOpening(opening);
      throw error;
    }
    if (result.status === 'appended') {
      this.version = result.version;
      this.pending = [];
      this.onKept?.();
    } else if (opening !== undefined) this.turn.returnOpening(opening);
    return result;
  }

  /** Text that is about to be kept or told, without what the redactor hides, wherever it was echoed. */
  clean(text: string): string {
    return scrubText(this.engine.redactor.text(text), this.hiddenValues());
  }

  cleanObject(value: JsonObject): JsonObject {
    const { value: kept } = this.engine.redactor.input(value);
    return scrubJson(kept, this.hiddenValues()) as JsonObject; // neither makes an object anything else
  }

  cleanOutput(output: JsonValue): JsonValue {
    const { value: kept } = this.engine.redactor.output(output, this.tool?.redact?.output);
    return scrubJson(kept, this.hiddenValues());
  }

  private hiddenValues(): readonly string[] {
    const { input } = this.request;
    const requested =
      this.requested.hidden.length === 0
        ? []
        : collectHidden(input.ok ? input.arguments : input.raw, this.requested.kept);
    const prepared = this.prepared;
    if (
      prepared === undefined ||
      prepared.effective.hidden.length === 0 ||
      prepared.effective === this.requested
    )
      return requested;
    return [...requested, ...collectHidden(prepared.effectiveInput, prepared.effective.kept)];
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

  cancel(reason: string): void {
    if (this.cancelled !== undefined || this.call?.status === 'settled') return;
    this.cancelled = reason;
    this.onCancel?.();
  }
}
