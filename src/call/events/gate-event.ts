/** A call until the gates have spoken: what was asked for, and whether it may go on. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../../tool/mode.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { Identity } from '../identity.ts';
import type { CallEventOf } from './event-of.ts';

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
    /** How the program that asked was identified, e.g. the token it used over HTTP. Absent: not recorded. */
    askedBy?: Identity;
    /** The runtime that took the call keeps askers from approving. Absent: it does not, or did not say. */
    separateDuties?: true;
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
    /** How the effective input is written. Undefined in ledgers of earlier versions: it is the accepted input then. */
    inputForm: InputForm | undefined;
    /**
     * Kept form of the arguments as the schema accepted them, where that is another value than the requested and the
     * effective input. Without it the effective input was accepted where `changes` lists any, else the requested one.
     */
    acceptedInput: JsonObject | undefined;
    /** The artifacts that the arguments name. */
    artifacts: readonly ArtifactArgument[];
    changes: readonly InputChange[];
    /** The rules that had something to say, in order; those that only observe are marked. */
    rules: readonly RuleMark[];
    /** The grant that approved the call in place of a person. */
    grantId: string | undefined;
    /** What the contracts say the tool does to the world. Undefined without contracts. */
    sideEffect: string | undefined;
  }
>;

/** `json`: the body gets exactly this value. `typed`: a rendering of a value that JSON cannot hold. */
export type InputForm = 'json' | 'typed';

/** An artifact that stands in arguments: what people are shown of it. */
export type ArtifactArgument = {
  readonly path: readonly (string | number)[];
  readonly artifactId: string;
  /** Of its content. An approval is about this content and no other. */
  readonly digest: string;
  readonly sizeBytes: number;
  readonly mimeType: string;
  /** The beginning of its content, kept form. */
  readonly preview: string;
  /** Whether its content stands at that path of what the body gets. False where the schema changed it. */
  readonly inPlace: boolean;
};

/** One rule of a contract and what it said about a call. */
export type RuleMark = {
  readonly ruleId: string;
  readonly action: 'block' | 'ask' | 'warn' | 'redact';
  readonly message: string;
  readonly tags?: readonly string[];
  readonly metadata?: JsonObject;
  /** The rule only observes. */
  readonly observed?: true;
  /** Its condition met a value of the wrong type, and so it fired. */
  readonly policyError?: true;
};

/** Who or what decided: a gate of ours, a hook of the host, a rule of a contract, a person. */
export type DecidedBy = {
  readonly type: 'gate' | 'hook' | 'rule' | 'person';
  /** Of whoever used a link that named nobody, both names: `<what they typed>, by link of <who made it>`. */
  readonly name: string;
  /** How the person was identified. Absent on what older versions wrote, which means "not recorded". */
  readonly identity?: Identity;
  /**
   * Did the person ask for the call themselves? `unknown` where the record does not say who asked. Absent on what older
   * versions wrote.
   */
  readonly asker?: 'other' | 'same' | 'unknown';
  /**
   * The person said that they approved without reading to the end. Absent where a person said nothing about it: they
   * read to the end, decided where no page follows that, or an older version wrote this.
   */
  readonly notReadToEnd?: true;
  /** Written by older versions where a link was used; newer ones say it in `identity`. */
  readonly link?: DecidingLink;
};
export type DecidingLink = {
  /** Who made the link. */
  readonly by: string;
  /** The name that the person who used it typed. Absent where the link named a person. */
  readonly typed?: string;
};

export type GatePassage = { readonly gate: string; readonly elapsedUs: number };

/** How an input was mended on its way to the body. */
export type InputChange = { readonly path: string; readonly rule: string };

/** A budget had too little left for the call. */
export type BudgetExhausted = CallEventOf<
  'runtime.budget_exhausted',
  { scope: string; metric: BudgetMetric; limit: number; used: number }
>;

export type BudgetMetric = 'tool_calls' | 'cost_micros' | 'attempts';

/** What is counted when a call ends, by how it ended. */
export type EndMetric = 'failures' | 'consecutive_failures';
