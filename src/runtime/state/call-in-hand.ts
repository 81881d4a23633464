/** One call while this process works on it: what was found out about it so far, beside the events it gave. */
import type { JsonObject } from '../../base/json.ts';
import { createKnownSecrets, shortestShared } from '../../base/known-secrets.ts';
import type { Call } from '../../call/call.ts';
import type { Ask, GatePassage, LogLine, ReservedShare, RuleMark } from '../../call/event.ts';
import type { DataOf } from '../../call/event-data.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { ParsedToolCall } from '../../call/tool-call.ts';
import type { Claim } from '../../ledger/claims.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { Share } from '../host/budget.ts';
import { noShares } from '../host/budget.ts';
import { CallJournal } from './call-journal.ts';
import type { CallOptions } from '../host/call-options.ts';
import type { CallerFacts } from '../input/caller-facts.ts';
import { hideInFacts, readCallerFacts } from '../input/caller-facts.ts';
import type { CallWithSecrets } from '../input/clean.ts';
import { clean, cleanObject } from '../input/clean.ts';
import type { ReadAnswer } from '../host/confirm.ts';
import type { Engine } from './engine.ts';
import type { GrantInUse } from './grant-in-use.ts';
import { handOut } from '../input/hand-out.ts';
import { judgedInput } from '../input/judged-input.ts';
import type { KeptInput } from '../input/kept-input.ts';
import { hideKnown } from '../input/kept-input.ts';
import type { PreparedInput } from '../input/prepared-input.ts';
import type { Snapshot } from '../input/snapshot.ts';
import type { Taken } from '../input/taken.ts';
import type { Told } from './told.ts';
import type { TurnState } from './turn-state.ts';
import { undoneCallId } from '../host/undo-tool.ts';
import type { WorkflowStep } from './workflow-step.ts';

/** The end of a body that neither the ledger nor the spill could store. */
export type Unkept = {
  /** What the caller heard. */
  readonly told: ToolOutcome;
  /** What is stored once the ledger takes writes again. */
  readonly end: {
    readonly outcome: ToolOutcome;
    readonly content: string;
    readonly toolSuccess: boolean | undefined;
    readonly authorSaysRetry: boolean;
  };
  /** What the body gave, where the end must say something else: it is stored as a late result. */
  readonly late: ToolOutcome | undefined;
  /** Why it could not be stored. */
  readonly why: string;
  readonly attempt: Pick<DataOf<'tool.responded'>, 'costMicros' | 'reached' | 'log' | 'payloadExtras'>;
};

const none: readonly never[] = Object.freeze([]);

export class CallInHand extends CallJournal implements CallWithSecrets {
  readonly options: CallOptions;
  readonly facts: CallerFacts;
  tool: AnyTool | undefined;
  readonly requested: KeptInput;
  /** The call it is to undo. */
  readonly undoes: string | undefined;
  readonly submitted: boolean;
  /** Takes a place among the parallel calls of a batch before the body runs; gives it back with the result. */
  readonly takePlace: (() => Promise<() => void>) | undefined;

  private lastJudged: { readonly of: PreparedInput; readonly value: JsonObject } | undefined;
  givenSecrets: readonly string[] = none;
  knownSecrets: CallWithSecrets['knownSecrets'];

  prepared: PreparedInput | undefined;
  /** The input on record as recovery has just taken it, at this version of the call. */
  justTaken: { readonly version: number; readonly taken: Taken } | undefined;
  /** Why the input on record cannot be used. */
  unusable: (Taken & { readonly type: 'unusable' }) | undefined;
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
  /** The standing permission that answers for a person. */
  grant: GrantInUse | undefined;
  lastGate = 'recall';
  /** How often the arguments were sent to repair. */
  repairs = 0;
  costMicros = 0;
  /** Taken over from a dead owner: even a read records its attempts, so that their number stays bounded. */
  mustIntend = false;
  /** Who had the call before this process took it over, until the takeover is on record. */
  previousOwner: string | undefined;
  /** Too many processes ended with this call: no code of the host or the tool is run for it. */
  givenUp = false;
  /** What an attempt cost whose end nobody saw. */
  lostCostMicros = 0;
  shares: readonly Share[] = noShares;
  /** What the end of the call counts. */
  counted: readonly ReservedShare[] = noShares;
  /** The key a tool made of its arguments, and the claim on it. */
  toolKey: string | undefined;
  claimKey: string | undefined;
  resourceKeys: readonly string[] | undefined;
  /** What the last preview would have the body do. */
  snapshot: Snapshot | undefined;
  /** Stops the preview that is being made, or the wait for another call: nothing of it is kept any more. */
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
  private toldYet: Promise<Told> | undefined;
  /** Makes what is told when somebody first asks for it. */
  private tellLater: (() => Promise<Told>) | undefined;
  unkept: Unkept | undefined;

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
    super(engine, turn, request);
    this.options = options;
    const facts = readCallerFacts(options, turn.facts, engine.redactor);
    // What is hidden in the one is hidden in the other.
    this.requested = hideKnown(requested, request.input, facts.hidden, engine.seal);
    this.facts =
      requested.secrets.length === 0
        ? facts
        : hideInFacts(facts, createKnownSecrets(requested.secrets, shortestShared));
    this.policy = engine.policyInForce();
    this.tool = mode.tool ?? engine.toolFor(request.name, this.policy);
    this.undoes = mode.tool === undefined ? undefined : undoneCallId(request.id);
    this.submitted = mode.submitted;
    this.takePlace = mode.takePlace;
  }

  /** What whoever asks for the call is told; undefined before anything will be. */
  get told(): Promise<Told> | undefined {
    const tell = this.tellLater;
    if (tell !== undefined) this.told = tell();
    return this.toldYet;
  }

  set told(told: Promise<Told> | undefined) {
    this.tellLater = undefined;
    this.toldYet = told;
  }

  /** Has what is told made when somebody first asks for it, and not before. */
  tellWhenAsked(tell: () => Promise<Told>): void {
    this.tellLater = tell;
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
    if (this.lastJudged?.of !== input) this.lastJudged = { of: input, value: judgedInput(input) };
    return this.lastJudged.value;
  }

  /** The input for a function of the tool. */
  handOut(): unknown {
    return handOut(this.knownTool.input, this.input);
  }

  get principal(): Principal | undefined {
    return this.facts.principal;
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
  aside(message: string, fields?: JsonObject): void {
    const line = { at: this.at, message: clean(this, message).slice(0, 2_000) };
    this.asides = [
      ...this.asides,
      fields === undefined ? line : { ...line, fields: cleanObject(this, fields) },
    ];
  }

  /** Has the model told something beside the tabled content. */
  note(text: string): void {
    this.notes = [...this.notes, text];
  }

  /** What the model should know beside the tabled content, as a field of the outcome. */
  modelNote(): { readonly modelNote?: string } {
    return this.notes.length === 0 ? {} : { modelNote: this.notes.join(' ') };
  }

  /** Goes on with a call of ours that stopped because the ledger did, from what the ledger has of it. */
  takeOver(left: CallInHand, call: Call, version: number): void {
    this.inherit(call, version);
    this.sealed = left.sealed;
    this.sealedAs = left.sealedAs;
    if (call.status === 'requested') return;
    this.prepared = left.prepared;
    this.snapshot = left.snapshot;
    this.notes = left.notes;
    this.costMicros = left.costMicros;
    this.shares = left.shares;
    this.counted = left.counted;
    this.toolKey = left.toolKey;
    this.claimKey = left.claimKey;
    this.twins = left.twins;
    this.supersedes = left.supersedes;
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
