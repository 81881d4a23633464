/**
 * A call that this process works on: the request, the caller, and the findings of the steps so far. All of it is
 * immutable: a step returns a copy with its findings added. Four objects are mutable and shared by all copies: journal
 * (the events of the call), signals, secrets and preview. While the call waits for a person, the process keeps only its
 * `KeptCall`.
 */
import type { JsonObject } from '../base/json.ts';
import { createKnownSecrets, shortestShared } from '../base/known-secrets.ts';
import type { Ask } from '../call/events/confirmation-event.ts';
import type {
  ArgumentComparison,
  GatePassage,
  RuleMark,
  BudgetExhausted,
  DecidedBy,
  InputChange,
} from '../call/events/gate-event.ts';
import type { ReservedShare } from '../call/events/attempt-event.ts';
import type { ParsedToolCall } from '../call/tool-call.ts';
import type { Claim } from '../ledger/claims.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { CallOptions } from './call-options.ts';
import type { Share } from './budget.ts';
import { undoneCallId } from './undo-tool.ts';
import type { CallerFacts, KeptInput, PreparedInput, Snapshot } from './call-input.ts';
import {
  hideInFacts,
  readCallerFacts,
  CallSecrets,
  judgedInput,
  hideKnown,
  clean,
  cleanObject,
} from './call-input.ts';
import { CallJournal } from './call-journal.ts';
import type { CallReply } from './call-reply.ts';
import type { CallServices, Engine } from './engine.ts';
import type { TurnState } from './turn-state.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { ToolRisk } from '../tool/name-words.ts';
import { classifyTool, riskOfTool } from '../tool/mode.ts';
import type { Call } from '../call/call.ts';
import type { Grant } from '../call/grant.ts';
import type { Move, StoredCall } from '../ledger/journal.ts';
import type { WorkflowRuling } from '../policy/workflow/evaluate-workflow.ts';
import type { Workflow } from '../policy/language/workflow.ts';
import type { WorkflowState } from '../policy/workflow/workflow-state.ts';
import type { DenialReason } from '../call/outcome.ts';
import type { ReasonCode } from '../call/reason.ts';

export type ActiveCall = CallContext &
  Findings & {
    readonly context: CallContext;
    readonly request: ParsedToolCall;
    /** The arguments in their stored form. */
    readonly requested: KeptInput;
    /** The rules in force when the call arrived. */
    readonly policy: Policy | undefined;
  };

/** The part of a call without its input. */
export type CallContext = CallTerms & {
  readonly services: CallServices;
  readonly engine: Engine;
  readonly turn: TurnState;
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  /** The digest of the requested arguments. */
  readonly requestDigest: string;
  readonly facts: CallerFacts;
  readonly options: CallOptions;
  /** Undefined if no tool has the requested name. */
  readonly tool: AnyTool | undefined;
  /** The call that this one undoes. */
  readonly undoes: string | undefined;

  readonly journal: CallJournal;
  readonly signals: CallSignals;
  readonly secrets: CallSecrets;
  readonly preview: ShownPreview;
};

/** What a process keeps of a call that it does not work on now. The rest is on record. */
export type KeptCall = BoundKey & Pick<Findings, 'ruled'> & { readonly context: CallContext };

/** How a call is made. */
export type CallTerms = {
  readonly submitted: boolean;
  /** Waits for a slot among the parallel calls of a batch before the body runs. Returns a function that frees it. */
  readonly waitForSlot?: (() => Promise<() => void>) | undefined;
  /** How long the call has waited for earlier calls of its batch. */
  readonly queuedMs?: number | undefined;
  /**
   * Set if this process took the call over from a dead owner. `givenUp`: too many processes ended with this call, so no
   * code of the host or the tool runs for it.
   */
  readonly takenOver?: { readonly givenUp: boolean } | undefined;
};

/** What the steps of a call find. Each gate returns its part. */
export type Findings = BoundKey & {
  /** The input that the schema accepted. */
  readonly input: PreparedInput | undefined;
  /** The input as hooks, rules and grants see it. */
  readonly judged: JsonObject | undefined;
  /** Notes for the model, in addition to the content of the outcome. */
  readonly notes: readonly string[];
  /** Why a person must decide. */
  readonly asks: readonly Ask[];
  /** Rulings about the call. */
  readonly rules: readonly RuleMark[];
  /** True once the rules have judged the call. */
  readonly ruled: boolean;
  readonly workflowSteps: readonly WorkflowStep[];
  /** Earlier identical calls whose effect is unknown. */
  readonly twins: readonly string[];
  /** The twin whose claim on the key passes to this call. */
  readonly supersedes: Claim['supersedes'] | undefined;
  /** The cost of one attempt. */
  readonly costMicros: number;
  /** The shares that the intent reserves. */
  readonly shares: readonly Share[];
  /** The counts that the end of the call adds. */
  readonly counted: readonly ReservedShare[];
  /** The grant that replaces an approval. */
  readonly grant: GrantInUse | undefined;
  /** The resources that the call touches. Undefined means any. */
  readonly resourceKeys: readonly string[] | undefined;
  /** Comparison with the last call on the same resource. `none`: no such call. Undefined: not computed. */
  readonly comparison: ArgumentComparison | 'none' | undefined;
  /** The gates that took a millisecond or more. */
  readonly passages: readonly GatePassage[];
  readonly lastGate: string;
};

/** The key that the tool made from the arguments. */
export type BoundKey = {
  readonly toolKey: string | undefined;
  /** The name of its claim in the ledger. */
  readonly claimKey: string | undefined;
};

const none: readonly never[] = Object.freeze([]);

export const nothingFound: Findings = Object.freeze({
  input: undefined,
  judged: undefined,
  notes: none,
  asks: none,
  rules: none,
  ruled: false,
  workflowSteps: none,
  toolKey: undefined,
  claimKey: undefined,
  twins: none,
  supersedes: undefined,
  costMicros: 0,
  shares: none,
  counted: none,
  grant: undefined,
  resourceKeys: undefined,
  comparison: undefined,
  passages: none,
  lastGate: 'validate',
});

/** A call whose tool is known and whose input the schema has accepted. */
export type CheckedCall = ActiveCall & {
  readonly tool: AnyTool;
  readonly input: PreparedInput;
  readonly judged: JsonObject;
};

export const isChecked = (active: ActiveCall): active is CheckedCall =>
  active.tool !== undefined && active.input !== undefined;

/** Adds the input of the call. From now on its secrets are hidden wherever they are echoed. */
export function withInput(
  active: ActiveCall,
  tool: AnyTool,
  input: PreparedInput,
  notes: readonly string[],
): CheckedCall {
  active.secrets.ofInput = input.effective.secrets;
  return { ...active, tool, input, judged: judgedInput(input), notes };
}

/** Tells the model which arguments were changed to fit the schema. */
export const mendedNote = (changes: readonly InputChange[]): string =>
  `Arguments were mended before the call: ${changes.map(({ path, rule }) => `${path} (${rule})`).join(', ')}.`;

export const editedNote = 'A person changed the arguments before the call ran.';

/** The notes about the arguments of a recorded call, as the process that made the call had them. */
export function recallNotes({ events }: StoredCall, { wasEdited }: Call): readonly string[] {
  const mended = events.flatMap((event) =>
    event.type === 'tool.decided' && event.changes.length > 0 ? [mendedNote(event.changes)] : [],
  );
  return wasEdited ? [...mended, editedNote] : mended;
}

/** Notes for the model, as a field of an outcome. */
export const modelNote = (notes: readonly string[]): { readonly modelNote?: string } =>
  notes.length === 0 ? {} : { modelNote: notes.join(' ') };

/** The last preview, in the exact form for the body. Its stored form is on the record of the call. */
type ShownPreview = {
  snapshot: Snapshot | undefined;
  /** The operation whose preview was cancelled. */
  cancelled: string | undefined;
};

/** The wait of a held call for people. */
export interface OpenQuestion {
  readonly confirmationId: string;
  /** Why the call needs an approval. */
  readonly waitsFor: string;
  /** Looks for a signal that has come. */
  checkSignals(): void;
}

/** Signals that reach a call while it is worked on. Each wait sets its own handlers and removes them at its end. */
export class CallSignals {
  readonly #journal: CallJournal;
  /** Why the call must end early. */
  cancelled: string | undefined;
  onCancel: (() => void) | undefined;
  /** Cancels the body that runs. */
  cancelBody: (() => void) | undefined;
  /** True once this runtime is closed. It then no longer waits for people and other processes. */
  left = false;
  onLeave: (() => void) | undefined;
  /** The turn of the call if this process took it over. The signals then apply to the continued call. */
  takenFrom: string | undefined;
  /** Stops the running preview, or the wait for another call. It records nothing more. */
  abandon: (() => void) | undefined;
  /** Why the question of the call is withdrawn. */
  withdrawn: string | undefined;
  /** The wait for people, while there is one. */
  held: OpenQuestion | undefined;

  constructor(journal: CallJournal) {
    this.#journal = journal;
  }

  /** The caller aborts its signal. */
  handleEvent(): void {
    this.cancel('the caller gave up');
  }

  /** A settled call cannot be cancelled. */
  cancel(reason: string): void {
    if (this.cancelled !== undefined || this.#journal.call?.status === 'settled') return;
    this.cancelled = reason;
    this.onCancel?.();
    this.cancelBody?.();
    this.held?.checkSignals();
  }

  /** Withdraws the open question, or the next one. */
  withdraw(reason: string): void {
    this.withdrawn ??= reason;
    this.held?.checkSignals();
  }

  /** Stops waiting for people and other processes. Everything else continues. */
  leave(): void {
    this.left = true;
    this.onLeave?.();
    this.held?.checkSignals();
  }
}

/** The runtime that makes the call. */
export type CallMaker = CallServices & { readonly engine: Engine };

/**
 * `undoTool`: a tool that the runtime itself calls. Default: the tool with the requested name. `signals`: those of a caller
 * that already waits for the call.
 */
export function acceptCall(
  maker: CallMaker,
  turn: TurnState,
  request: ParsedToolCall,
  requested: KeptInput,
  options: CallOptions,
  { submitted, waitForSlot, queuedMs, takenOver }: CallTerms,
  undoTool?: AnyTool,
  signals?: CallSignals,
): ActiveCall {
  const { engine } = maker;
  const read = readCallerFacts(options, turn.facts, engine.redactor);
  // Secrets of the arguments are hidden in the facts too, and vice versa.
  const kept = hideKnown(requested, request.input, read.hidden, engine.seal);
  const facts =
    requested.secrets.length === 0
      ? read
      : hideInFacts(read, createKnownSecrets(requested.secrets, shortestShared));
  const policy = engine.policyInForce();
  const journal = new CallJournal(engine, turn, request.id);
  const context: CallContext = {
    services: maker,
    engine,
    turn,
    sessionId: turn.sessionId,
    callId: request.id,
    toolName: request.name,
    requestDigest: kept.digest,
    facts,
    options,
    submitted,
    waitForSlot,
    queuedMs,
    takenOver,
    tool: undoTool ?? engine.toolFor(request.name, policy),
    undoes: undoTool && undoneCallId(request.id),
    journal,
    signals: signals ?? new CallSignals(journal),
    secrets: new CallSecrets(facts.hidden, kept.secrets),
    preview: { snapshot: undefined, cancelled: undefined },
  };
  return { ...nothingFound, ...context, context, request, requested: kept, policy };
}

/** A call that this runtime works on, for the callers that join it. */
export type CallInProgress = { readonly active: CallContext; readonly reply: Promise<CallReply> };

/** The calls a runtime works on, by session and call id. */
export type CallsInProgress = Map<string, CallInProgress>;

/** The recorded mode and risk of a call: that of its tool, or guessed from its name if the tool is unknown. */
export function modeOf({ tool, toolName }: Pick<CallContext, 'tool' | 'toolName'>): {
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  readonly risk?: ToolRisk;
} {
  const { mode, modeOrigin, risk } = tool ?? guessMode(toolName);
  return { mode, modeOrigin, ...(risk !== undefined && { risk }) };
}

function guessMode(name: string): Pick<AnyTool, 'mode' | 'modeOrigin' | 'risk'> {
  const { mode, origin } = classifyTool(name);
  const risk = riskOfTool(name, mode);
  return { mode, modeOrigin: origin, ...(risk !== undefined && { risk }) };
}

/** The end of a call whose record was altered. The model gets only facts about the call. */
export const alteredStop: Stop & { type: 'fail' } = {
  type: 'fail',
  code: 'ledger.altered',
  error: 'The record of this call was changed after it was stored. The call was not run.',
};

/** The grant that approved a call, and the version of its session's grants. */
type GrantInUse = { readonly grant: Grant; readonly guard: Move };

/** A workflow's ruling about a call, and the step to store. */
export type WorkflowStep = {
  readonly workflow: Workflow;
  readonly ruling: WorkflowRuling;
  readonly before: WorkflowState;
  readonly version: number;
};

/** A check before the input is validated. */
export type EntryGate = {
  readonly name: string;
  readonly check: (active: ActiveCall) => Stop | undefined;
};

/** A check before the body runs. It sees the findings of earlier gates. */
export type Gate = {
  readonly name: string;
  readonly check: (active: CheckedCall) => Promise<Verdict>;
};

/** What a gate found. */
export type GateFindings = Partial<Omit<Findings, 'input' | 'judged'>>;

/** The verdict of a gate: nothing, its findings, or why the call stops. */
export type Verdict =
  | undefined
  | { readonly type: 'found'; readonly found: GateFindings }
  | { readonly type: 'stopped'; readonly stop: Stop; readonly found: GateFindings }
  | Stop;

/** Why a call stops. */
export type Stop =
  | {
      readonly type: 'deny';
      readonly reason: DenialReason;
      readonly code: ReasonCode;
      readonly details: string;
      /**
       * A mistake of the host or the tool's author, for the log of the call. The model gets only `details`.
       */
      readonly developer?: string;
      readonly by?: DecidedBy;
      readonly exhausted?: Pick<BudgetExhausted, 'scope' | 'metric' | 'limit' | 'used'>;
    }
  | {
      readonly type: 'fail';
      readonly code: 'tool.unknown' | 'tool.cancelled' | 'ledger.altered';
      readonly error: string;
      /** Absent: only a cancelled call is retryable. */
      readonly retryable?: false;
    }
  /** Answered with the outcome of another call with the same key. */
  | { readonly type: 'copy'; readonly from: CallRef };

export type CallRef = { readonly sessionId: string; readonly callId: string };

/** Logs a problem that does not end the call. */
export function logProblem(active: ActiveCall, message: string, fields?: JsonObject): void {
  const line = { at: active.engine.ledger.now(), message: clean(active, message).slice(0, 2_000) };
  const { journal } = active;
  const added = fields === undefined ? line : { ...line, fields: cleanObject(active, fields) };
  journal.problems = [...journal.problems, added];
}
