/**
 * Events are the truth: everything shown is read from them. Names are for ever. An event is never changed
 * after it was appended, so the ones we make are frozen with everything below them.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { PersistenceBoundary } from './persistence-boundary.ts';
import type { ReasonCode } from './reason.ts';
import type { ToolOutcome } from './outcome.ts';

export type CallEvent =
  | ToolRequested
  | ToolRecalled
  | ToolDecided
  | ToolHeld
  | ToolStarted
  | ToolResponded
  | ToolLate
  | ToolResolved
  | PersistenceFailed
  | ConfirmationDecided
  | ConfirmationWithdrawn
  | BudgetExhausted;

export type TurnEvent = TurnOpened | TurnEnded;

/** Where a session stands in an order of calls. Each carries the whole state, so that the last one is the state. */
export type WorkflowEvent = WorkflowAdvanced | WorkflowUpdated | WorkflowCompleted;

/** About the ledger itself: the first inside a session's chain, the second in the ledger's own. */
export type LedgerEvent = BodyErased | SessionDropped;

/** Everything this version appends. Readers keep types they do not know. */
export type QuittanceEvent = CallEvent | TurnEvent | WorkflowEvent | ContractsLoaded | LedgerEvent;
export type EventType = QuittanceEvent['type'];

type EventOf<Type extends string, Data> = {
  readonly id: string;
  readonly type: Type;
  readonly sessionId: string;
  readonly turnId: string;
  /** Milliseconds since 1970 by the ledger's clock. */
  readonly at: number;
  /** The event that brought this one about. */
  readonly cause: string | undefined;
} & Readonly<Data>;

type CallEventOf<Type extends string, Data> = EventOf<Type, { readonly callId: string } & Data>;

export type TurnOpened = EventOf<
  'turn.opened',
  { deadlineMs: number | undefined; parentSessionId: string | undefined; principal: Principal | undefined }
>;
export type TurnEnded = EventOf<'turn.ended', { why: TurnEndReason }>;
export type TurnEndReason = 'asked' | 'terminal_result';

export type ToolRequested = CallEventOf<
  'tool.requested',
  {
    toolName: string;
    displayName: string;
    mode: ToolMode;
    modeOrigin: ToolModeOrigin;
    /** Kept form of the arguments as they came; the text itself where it was no JSON object. */
    requestedInput: JsonValue;
    /** Paths the redactor hid in the requested input. */
    hidden: readonly string[];
    /** Digest of the arguments as they came: what a second request with this id must match. */
    requestDigest: string;
    principal: Principal | undefined;
    provenance: Provenance | undefined;
    attrs: JsonObject | undefined;
    /** Asked for by `submit`: nobody waits, so it is decided again after a crash. */
    submitted: boolean;
  }
>;

/** Which model asked. */
export type Provenance = { readonly provider?: string; readonly model?: string };

export type ToolRecalled = CallEventOf<
  'tool.recalled',
  { how: 'cached' | 'replayed' | 'conflict'; fromCallId: string; details: string }
>;

export type ToolDecided = CallEventOf<
  'tool.decided',
  {
    decision: 'allow' | 'deny' | 'ask';
    /** The gates that had to wait for something, in order, with how long. */
    gates: readonly GatePassage[];
    decidedBy: DecidedBy | undefined;
    policyVersion: string | undefined;
    /** Kept form of what the body gets, where it differs from what was requested. */
    effectiveInput: JsonObject | undefined;
    inputDigest: string | undefined;
    changes: readonly InputChange[];
    /** The rules that had something to say, in order; those that only observe are marked. */
    rules: readonly RuleMark[];
    /** What the contracts say the tool does to the world. Undefined without contracts. */
    sideEffect: string | undefined;
  }
>;

/** One rule of a contract and what it said about a call. */
export type RuleMark = {
  readonly ruleId: string;
  readonly action: 'block' | 'ask' | 'warn' | 'redact';
  readonly message: string;
  readonly tags?: readonly string[];
  readonly metadata?: JsonObject;
  /** It only says what it would have done. */
  readonly observed?: true;
  /** Its condition met a value of the wrong type, and so it fired. */
  readonly policyError?: true;
};

export type GatePassage = { readonly gate: string; readonly elapsedUs: number };
/** How an input was mended on its way to the body. */
export type InputChange = { readonly path: string; readonly rule: string };

/** Who or what decided: a gate of ours, a hook of the host, a rule of a contract, a person. */
export type DecidedBy = { readonly type: 'gate' | 'hook' | 'rule' | 'person'; readonly name: string };

export type ToolHeld = CallEventOf<
  'tool.held',
  { confirmationId: string; description: string; asks: readonly Ask[]; inputDigest: string }
>;

/** One wish for a person: who asks and why. */
export type Ask = {
  readonly by: DecidedBy;
  readonly description: string;
  readonly code?: ReasonCode;
  /** What the rule that asks says, as a digest: an approval counts only while it says the same. */
  readonly digest?: string;
  /** How long a person has, and what happens then; for as long as it takes where nothing is said. */
  readonly timeoutSeconds?: number;
  readonly timeoutEffect?: 'block' | 'allow';
  /** The stage of a workflow that an approval approves. */
  readonly stage?: { readonly workflow: string; readonly stageId: string };
};

export type ConfirmationDecided = CallEventOf<
  'confirmation.decided',
  {
    confirmationId: string;
    decision: 'approve' | 'deny';
    /** The person who decided; the hook, where none could be asked. */
    by: DecidedBy;
    reason: string | undefined;
    inputDigest: string;
  }
>;
export type ConfirmationWithdrawn = CallEventOf<
  'confirmation.withdrawn',
  { confirmationId: string; reason: string }
>;

/** The intent: only after this is kept may the body run. */
export type ToolStarted = CallEventOf<
  'tool.started',
  {
    attempt: number;
    /** The key the tool made; undefined where session and call id are the key. */
    idempotencyKey: string | undefined;
    deadlineMs: number;
    mayRerun: boolean;
    /** What the attempt took from budgets, to be given back or charged with its end. */
    reserved: readonly ReservedShare[];
  }
>;

export type ToolResponded = CallEventOf<
  'tool.responded',
  {
    /** Zero where the body never ran. */
    attempt: number;
    final: boolean;
    outcome: ToolOutcome;
    /** What the model is told, byte for byte. */
    content: string;
    toolSuccess: boolean | undefined;
    error: { readonly reason: ReasonCode; readonly message: string } | undefined;
    payloadExtras: JsonObject | undefined;
    costMicros: number;
    /** What an external tool said it touched. */
    reached: readonly string[];
    log: readonly LogLine[];
    /** Whether the effect may have happened although nobody can say so: another such call must ask. */
    unsettledEffect: boolean;
    /** The rules that had something to say about the result, in order. */
    rules: readonly RuleMark[];
  }
>;
export type LogLine = { readonly at: number; readonly message: string; readonly fields?: JsonObject };

/** What a body gave after its call had ended. It never changes the outcome. */
export type ToolLate = CallEventOf<
  'tool.late',
  {
    attempt: number;
    elapsedMs: number;
    result:
      | { readonly type: 'returned'; readonly output: JsonValue; readonly cutFromChars?: number }
      | { readonly type: 'threw'; readonly error: string };
  }
>;

export type BudgetExhausted = CallEventOf<
  'runtime.budget_exhausted',
  { scope: string; metric: BudgetMetric; limit: number; used: number }
>;
/** What an attempt took from one budget. */
export type ReservedShare = {
  readonly counter: string;
  readonly amount: number;
  readonly metric: BudgetMetric;
};
export type BudgetMetric = 'tool_calls' | 'cost_micros' | 'attempts';

/** What was found out later about a call whose end was not known. Beside the outcome, never instead of it. */
export type ToolResolved = CallEventOf<
  'tool.resolved',
  {
    resolution: Resolution;
    /** Who found out: a person by name, or the tool's own `reconcile`. */
    by: DecidedBy;
    reason: string | undefined;
    /** What the effect gave, where that is known. Kept form. */
    result: JsonValue | undefined;
  }
>;
/** It happened; it did not; or a person says that running it again does no harm. */
export type Resolution = 'succeeded' | 'failed' | 'safe_to_retry';

/** Something could not be written when it should have been, and is made good here. */
export type PersistenceFailed = CallEventOf<
  'persistence.failed',
  {
    boundary: PersistenceBoundary;
    error: string;
    /** Where what could not be written was kept meanwhile. */
    keptIn: 'spill' | 'record' | 'nowhere';
  }
>;

type WorkflowEventOf<Type extends string, Data> = EventOf<
  Type,
  {
    workflow: string;
    /** As its document says. */
    workflowVersion: string | undefined;
    /** The whole state after this, as it is kept. */
    state: JsonObject;
  } & Data
>;
export type WorkflowAdvanced = WorkflowEventOf<'workflow.advanced', { stageId: string; toStageId: string }>;
export type WorkflowUpdated = WorkflowEventOf<
  'workflow.updated',
  { why: WorkflowUpdate; by: string | undefined }
>;
/** Evidence of a call; an approval; a call that was stopped or paused, or one that fits again; a move by the host. */
export type WorkflowUpdate = 'evidence' | 'approval' | 'stopped' | 'resumed' | 'reset' | 'stage_set';
export type WorkflowCompleted = WorkflowEventOf<'workflow.completed', { stageId: string }>;

/** Rules came into force. Holds their text, so that a decision under this version can be explained for ever. */
export type ContractsLoaded = EventOf<
  'contracts.loaded',
  {
    policyVersion: string;
    documents: readonly { readonly name: string; readonly stamp: string; readonly text?: string }[];
  }
>;

/** Inputs, outputs and texts of some entries are gone for good; what they were worth is still in the chain. */
export type BodyErased = EventOf<'body.erased', { entryIds: readonly string[]; by: string; reason: string }>;

/** A session was removed with all its entries. Where its chain stood is kept, so that an anchor still says so. */
export type SessionDropped = EventOf<
  'session.dropped',
  { droppedSessionId: string; sequence: number; hash: string; by: string; reason: string }
>;
