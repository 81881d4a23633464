/** A call up to the ruling of the gates: the request, and whether it may continue. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../../tool/mode.ts';
import type { PreviewField } from '../../tool/preview.ts';
import type { ToolRisk } from '../../tool/name-words.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { DirectIdentity, Identity } from '../identity.ts';
import type { CallEventOf } from './event-of.ts';

/** A tool was requested. The first event of every call. */
export type ToolRequested = CallEventOf<
  'tool.requested',
  {
    toolName: string;
    displayName: string;
    mode: ToolMode;
    modeOrigin: ToolModeOrigin;
    /** The risk of the tool. Absent: not known. */
    risk?: ToolRisk;
    /** Stored form of the requested arguments. The text itself if it was not a JSON object. */
    requestedInput: JsonValue;
    /** Paths that the redactor hid in the requested input. */
    hidden: readonly string[];
    /** Digest of the requested arguments. A second request with this id must match it. */
    requestDigest: string;
    principal: Principal | undefined;
    provenance: Provenance | undefined;
    attrs: JsonObject | undefined;
    /** Made by `submit`: no caller waits, so after a crash its checks run again. */
    submitted: boolean;
    /** Schema digest of the tool. Undefined without a tool, or if it has no JSON Schema. */
    schemaDigest: string | undefined;
    /** The trace of the call, as a `traceparent` of the W3C: hexadecimal digits only. */
    traceparent: string | undefined;
    /** How the calling program was identified, e.g. the token it used over HTTP. Absent: not recorded. */
    askedBy?: Identity;
    /** The runtime that accepted the call has separate duties. Absent: it does not, or did not say. */
    separateDuties?: true;
    /** Names of the call that repeat a hidden value. They are stored as they are, but not shown. Absent: none. */
    hiddenIds?: readonly HiddenId[];
    /** Budgets of the turn and its parents, for a process that takes the call over. Absent: only those of the runtime. */
    budgets?: readonly TurnBudget[];
    /** The deadline of the turn, if the call was submitted: its gates may run in another process. Absent: none. */
    turnDeadlineMs?: number;
  }
>;

/** A budget of a turn, with the name of its counter. */
export type TurnBudget = {
  readonly scope: string;
  readonly counter: string;
  readonly perDay: boolean;
  readonly metric: BudgetMetric;
  readonly limit: number;
};

export type HiddenId = 'session' | 'call' | 'tool' | 'owner';

/** The model that made the call. */
export type Provenance = { readonly provider?: string; readonly model?: string };

/** The call was repeated, or answered by another one with the same key. Nothing ran for it. */
export type ToolRecalled = CallEventOf<
  'tool.recalled',
  { how: 'cached' | 'replayed' | 'conflict'; fromCallId: string; details: string }
>;

/** The ruling of the gates: allow, deny, or ask a person. */
export type ToolDecided = CallEventOf<
  'tool.decided',
  {
    decision: 'allow' | 'deny' | 'ask';
    /** The gates that had to wait, in order, with their time. */
    gates: readonly GatePassage[];
    decidedBy: DecidedBy | undefined;
    policyVersion: string | undefined;
    /** Stored form of the body's input, if it differs from the requested one. */
    effectiveInput: JsonObject | undefined;
    inputDigest: string | undefined;
    /**
     * The form of the effective input. Undefined in ledgers of earlier versions: it is the accepted input
     * then.
     */
    inputForm: InputForm | undefined;
    /**
     * Stored form of the arguments that the schema accepted, if they differ from both the requested and the
     * effective input. If absent: the effective input was accepted if `changes` is not empty, otherwise the
     * requested one.
     */
    acceptedInput: JsonObject | undefined;
    /** The artifacts that the arguments name. */
    artifacts: readonly ArtifactArgument[];
    changes: readonly InputChange[];
    /** Rules that ruled, in order. Those in observe mode are marked. */
    rules: readonly RuleMark[];
    /** The grant that approved the call instead of a person. */
    grantId: string | undefined;
    /** The side effect of the tool according to the contracts. Undefined without contracts. */
    sideEffect: string | undefined;
    /**
     * Comparison with the last call on the same resource, for a safe write whose tool has no preview. Undefined if
     * there is nothing to compare with, and if a person is asked: the question has it then.
     */
    comparison?: ArgumentComparison | undefined;
  }
>;

/** How the arguments of a call differ from those of the last call on the same resource. Stored form. */
export type ArgumentComparison = {
  /** The call they are compared with. */
  readonly callId: string;
  /** When that call was requested. */
  readonly at: number;
  /** Empty if they are equal. */
  readonly fields: readonly PreviewField[];
  /** The number of further differences. */
  readonly more: number;
};

/** `json`: the body gets exactly this value. `typed`: a rendering of a value that JSON cannot hold. */
export type InputForm = 'json' | 'typed';

/** An artifact named in arguments, as shown to people. */
export type ArtifactArgument = {
  readonly path: readonly (string | number)[];
  readonly artifactId: string;
  /** Digest of its content. An approval covers exactly this content. */
  readonly digest: string;
  readonly sizeBytes: number;
  readonly mimeType: string;
  /** The beginning of its content. Stored form. */
  readonly preview: string;
  /** True if its content is at that path of the body's input. False if the schema changed it. */
  readonly inPlace: boolean;
};

/** One rule of a contract and its ruling about a call. */
export type RuleMark = {
  readonly ruleId: string;
  readonly action: 'block' | 'ask' | 'warn' | 'redact';
  readonly message: string;
  readonly tags?: readonly string[];
  readonly metadata?: JsonObject;
  /** The rule only observes. */
  readonly observed?: true;
  /** Its condition met a value of the wrong type, so it fired. */
  readonly policyError?: true;
};

/** The decider: a gate, a hook of the host, a rule of a contract, or a person. */
export type DecidedBy = {
  readonly type: 'gate' | 'hook' | 'rule' | 'person';
  /** For a link without a named person, both names: `<typed name>, by link of <maker>`. */
  readonly name: string;
  /** How the person was identified. Absent in events of older versions, which means "not recorded". */
  readonly identity?: Identity;
  /**
   * `same` if the person requested the call themselves. `unknown` if the record does not name the requester. Absent in
   * events of older versions.
   */
  readonly asker?: 'other' | 'same' | 'unknown';
  /**
   * The person stated that they approved without reading to the end. Absent if they read to the end, decided
   * without a page that checks it, or an older version wrote this.
   */
  readonly notReadToEnd?: true;
  /** `same` if the session belongs to the person. Recorded if a rule keeps the owner from approving. */
  readonly owner?: 'other' | 'same' | 'unknown';
  /** The people for whom they act by delegation, nearest first. Absent: for themselves. */
  readonly behalf?: readonly Behalf[];
  /** Written by older versions for a link. Newer ones use `identity`. */
  readonly link?: DecidingLink;
};
/** A person who has delegated their approvals, as recorded with an act of the delegate. */
export type Behalf = {
  readonly delegation: string;
  readonly name: string;
  readonly identity: DirectIdentity;
  readonly until: number;
};
export type DecidingLink = {
  /** The person who made the link. */
  readonly by: string;
  /** The name that the user of the link typed. Absent if the link named a person. */
  readonly typed?: string;
};

export type GatePassage = { readonly gate: string; readonly elapsedUs: number };

/** How an input was changed on its way to the body. */
export type InputChange = { readonly path: string; readonly rule: string };

/** A budget had too little left for the call. */
export type BudgetExhausted = CallEventOf<
  'runtime.budget_exhausted',
  { scope: string; metric: BudgetMetric; limit: number; used: number }
>;

export type BudgetMetric = 'tool_calls' | 'cost_micros' | 'attempts';

/** Counters that the end of a call changes. */
export type EndMetric = 'failures' | 'consecutive_failures';
