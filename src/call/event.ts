/**
 * Events are the truth: everything shown is read from them. Names are for ever. An event is never changed
 * after it was appended, so the ones we make are frozen with everything below them.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Preview } from '../tool/preview.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { PersistenceBoundary } from './persistence-boundary.ts';
import type { ReasonCode } from './reason.ts';
import type { ToolOutcome } from './outcome.ts';

export type { Preview, PreviewField } from '../tool/preview.ts';

export type CallEvent =
  | ToolRequested
  | ToolRecalled
  | ToolDecided
  | ToolPreviewed
  | ToolHeld
  | ToolStarted
  | ToolResponded
  | ToolLate
  | ToolReported
  | ToolResolved
  | ToolUndone
  | PersistenceFailed
  | ConfirmationDecided
  | ConfirmationExpired
  | ConfirmationWithdrawn
  | RetryRequested
  | BudgetExhausted;

/** Where a session came from. */
export type SessionEvent = SessionForked;
export type TurnEvent = TurnOpened | TurnEnded;

/** Where a session stands in an order of calls. Each carries the whole state, so that the last one is the state. */
export type WorkflowEvent = WorkflowAdvanced | WorkflowUpdated | WorkflowCompleted;

/** What behaviours leave behind. */
export type BehaviorEvent = RedeliveryRequested | BehaviorFailed;

/** About the ledger itself: the first inside a session's chain, the second in the ledger's own. */
export type LedgerEvent = BodyErased | SessionDropped;

/** Everything this version appends. Readers keep types they do not know. */
export type QuittanceEvent =
  | CallEvent
  | SessionEvent
  | TurnEvent
  | WorkflowEvent
  | GrantEvent
  | BehaviorEvent
  | ContractsLoaded
  | LedgerEvent;
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

/** The first event of a session that begins where another one stood: what came before is served from its record. */
export type SessionForked = EventOf<
  'session.forked',
  {
    fromSessionId: string;
    /** The first call that is not served from the record; undefined at the end of that session. */
    atCallId: string | undefined;
    /** How many calls come before it. */
    position: number;
    /** What happens from there on. */
    after: ForkedHow;
  }
>;
/** Real bodies run, recorded ones are played, or none runs and the outcome says so. */
export type ForkedHow = 'live' | 'recorded' | 'dry';

/** A round of an agent's loop has begun. Travels with the first call of it. */
export type TurnOpened = EventOf<
  'turn.opened',
  { deadlineMs: number | undefined; parentSessionId: string | undefined; principal: Principal | undefined }
>;
/** The round is over: later calls of it are denied. */
export type TurnEnded = EventOf<'turn.ended', { why: TurnEndReason }>;
export type TurnEndReason = 'asked' | 'terminal_result';

/** A tool is asked for. The first event of every call. */
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
    /** Of the tool as it was: what it takes and gives. Undefined where there is no tool, or no JSON Schema says it. */
    schemaDigest: string | undefined;
  }
>;

/** Which model asked. */
export type Provenance = { readonly provider?: string; readonly model?: string };

/** The call was asked for again, or answered by another of the same key; nothing ran for it. */
export type ToolRecalled = CallEventOf<
  'tool.recalled',
  { how: 'cached' | 'replayed' | 'conflict'; fromCallId: string; details: string }
>;

/** What the gates said: let through, stopped, or a person is to be asked. */
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
    /** The standing permission that answered for a person. */
    grantId: string | undefined;
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

/** What a tool says it would do. A person approves one revision, and the body is given its snapshot. */
export type ToolPreviewed = CallEventOf<
  'tool.previewed',
  {
    operationId: string;
    /** From 1. */
    revision: number;
    /** The last one: what it shows is what would be done. */
    ready: boolean;
    preview: Preview;
    /** What the body needs in order to do exactly this, kept form. Policy sees it as it is. */
    snapshot: JsonObject;
    /** Paths the redactor hid in the snapshot. */
    hidden: readonly string[];
    /** Of the input it was made for: it says nothing about any other. */
    inputDigest: string;
    /** When it goes stale, by the ledger's clock. */
    expiresAt: number | undefined;
  }
>;

/** The call waits for a person. */
export type ToolHeld = CallEventOf<
  'tool.held',
  {
    confirmationId: string;
    description: string;
    asks: readonly Ask[];
    inputDigest: string;
    /** The revision of the preview that is shown; undefined where the tool gives none. */
    revision: number | undefined;
    /** When nobody's answer counts any more, by the ledger's clock; never where undefined. */
    expiresAt: number | undefined;
    /** What happens then. */
    timeoutEffect: 'block' | 'allow';
    /** What makes it risky, in words for people. */
    risk: readonly string[];
    /** Of the tool that is to run: another version of it may mean something else by the same arguments. */
    schemaDigest: string | undefined;
  }
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

/** Somebody has decided about a held call. The first decision counts. */
export type ConfirmationDecided = CallEventOf<
  'confirmation.decided',
  {
    confirmationId: string;
    decision: ConfirmationDecision;
    /** The person who decided; the hook, where none could be asked. */
    by: DecidedBy;
    reason: string | undefined;
    inputDigest: string;
    revision: number | undefined;
    /** Of an edit: the arguments to run with instead, kept form, and their digest. That is what was approved. */
    editedInput: JsonObject | undefined;
    editedDigest: string | undefined;
    /** Paths the redactor hid in them. */
    editedHidden: readonly string[];
    /** What the model is told instead of running. */
    response: string | undefined;
  }
>;
/** An edit approves other arguments; a response answers the model without running anything. */
export type ConfirmationDecision = 'approve' | 'deny' | 'edit' | 'respond';
/** The time is up. Under `allow` the rule that says so lets the call run. */
export type ConfirmationExpired = CallEventOf<
  'confirmation.expired',
  { confirmationId: string; effect: 'block' | 'allow'; by: DecidedBy | undefined }
>;
/** The question was taken back before anybody answered. */
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
    /** Whether another process runs it and reports. */
    handoff: boolean;
    /** Where each workflow stood when it let the call run: that is where what the call shows counts. */
    stages: readonly StageMark[];
    /** What the attempt took from budgets, to be given back or charged with its end. */
    reserved: readonly ReservedShare[];
  }
>;

export type StageMark = { readonly workflow: string; readonly stageId: string };

/** An attempt, or the call, has ended. The final one is the outcome: one for every call, denials too. */
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

/** A budget had too little left for the call. */
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

type RetryData = {
  /** The event that is answered by trying again: an attempt's end, or what a behaviour failed to handle. */
  forEvent: string;
  /** The call that event tells of. */
  forCallId: string | undefined;
  /** Which attempt is asked for: 2 is the first one that is made again. */
  attempt: number;
  /** Not before this moment, by the ledger's clock; at once where undefined. */
  notBefore: number | undefined;
  /** The behaviour that asks. */
  by: string;
  /** The behaviour that is to be given the event again; undefined where it is the call that is tried again. */
  behavior: string | undefined;
};
/** The call is to be tried again: the same call, the same key, another attempt. */
export type RetryRequested = CallEventOf<'retry.requested', RetryData>;
/** A behaviour is to be given an event again that it failed to handle. */
export type RedeliveryRequested = EventOf<'retry.requested', RetryData>;

/** A behaviour could not handle an event. Its caller hears of it here and nowhere else. */
export type BehaviorFailed = EventOf<
  'behavior.failed',
  {
    behavior: string;
    /** The code of the ToolError that escaped, or what else went wrong. */
    reason: ReasonCode | BehaviorReason;
    message: string;
    /** How many times it was given the event by then. */
    attempt: number;
    triggeringEventId: string;
    /** The call that event tells of. */
    triggeringCallId: string | undefined;
    payloadExtras: JsonObject | undefined;
  }
>;
/** It threw something that is no ToolError; it took too long; too many behaviours had set each other off. */
export type BehaviorReason = 'behavior.error' | 'behavior.timeout' | 'behavior.depth';

/** Another process that was handed the call says how it went. */
export type ToolReported = CallEventOf<
  'tool.reported',
  {
    attempt: number;
    /** Who had it in hand. */
    worker: string;
    what:
      | { readonly type: 'claimed'; readonly expiresAt: number | undefined; readonly tokenDigest: string }
      /** It said how it went: the outcome, or the late result, that is kept with this. */
      | { readonly type: 'given'; readonly digest: string }
      /** It came again, and differently: what was recorded first stays. */
      | { readonly type: 'differs'; readonly digest: string };
  }
>;

/** What the call did was taken back by another call. */
export type ToolUndone = CallEventOf<
  'tool.undone',
  { undoCallId: string; by: DecidedBy; reason: string | undefined }
>;

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

/** Standing permissions of a session. Each carries all of them, so that the last one is the state. */
export type GrantEvent = GrantGiven | GrantRevoked;
/** A person has permitted calls of a tool beforehand. */
export type GrantGiven = EventOf<'grant.given', { grantId: string; by: string; state: JsonObject }>;
/** A standing permission was taken back. */
export type GrantRevoked = EventOf<
  'grant.revoked',
  { grantId: string; by: string; reason: string | undefined; state: JsonObject }
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
/** A session has moved on to another stage of a workflow. */
export type WorkflowAdvanced = WorkflowEventOf<'workflow.advanced', { stageId: string; toStageId: string }>;
/** Something about where a session stands in a workflow has changed. */
export type WorkflowUpdated = WorkflowEventOf<
  'workflow.updated',
  { why: WorkflowUpdate; by: string | undefined }
>;
/** Evidence of a call; an approval; a call that was stopped or paused, or one that fits again; a move by the host. */
export type WorkflowUpdate = 'evidence' | 'approval' | 'stopped' | 'resumed' | 'reset' | 'stage_set';
/** A session is through with a workflow. */
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
