/** A rule document after loading: older words replaced, shape checked, nothing compiled. */
import type { JsonObject } from '../../base/json.ts';
import type { ApprovalPolicy } from '../../call/approval-policy.ts';
import type { Expression } from './expression.ts';

export type RuleMode = 'enforce' | 'observe';

export type Ruleset = {
  readonly name: string;
  readonly description: string | undefined;
  /** For rules without a mode of their own. */
  readonly mode: RuleMode;
  /** The effect on calls of tools that the document does not name. Undefined if the document does not say. */
  readonly unlistedTools: 'allow' | 'block' | undefined;
  /** Without rules that say `enabled: false`. Ids are unique. */
  readonly rules: readonly Rule[];
  /** Ids of the disabled rules. */
  readonly disabled: readonly string[];
  /** By name or glob, in the order written. */
  readonly tools: readonly ToolFacts[];
  readonly observability: JsonObject | undefined;
  readonly observeAlongside: boolean;
  readonly extends: string | undefined;
  /** sha256 of the bytes it was read from; with parents, over the stamps of all of them joined by `:`. */
  readonly version: string;
  /** The document's file name, or the name it was given. */
  readonly source: string;
  /** Location of each rule, by id. Stored separately, so that moving a rule does not change it. */
  readonly positions: ReadonlyMap<string, RulePosition>;
};

export type RulePosition = { readonly source: string; readonly line: number | undefined };

export type Rule = PreRule | PostRule | SessionRule | SandboxRule;

type RuleBase = {
  readonly id: string;
  /** Undefined if the document's default applies. */
  readonly mode: RuleMode | undefined;
  readonly message: string;
  readonly tags: readonly string[];
  readonly metadata: JsonObject | undefined;
};

/** How long a person may take to answer an `ask`, and what happens after that. */
export type AskTimeout = { readonly timeoutSeconds: number; readonly timeoutEffect: 'block' | 'allow' };

export type PreRule = RuleBase &
  AskTimeout & {
    readonly type: 'pre';
    readonly tool: string;
    readonly when: Expression;
    readonly action: 'block' | 'ask';
    /** Absent: any one person. */
    readonly approval?: ApprovalPolicy;
  };

export type PostRule = RuleBase & {
  readonly type: 'post';
  readonly tool: string;
  readonly when: Expression;
  readonly action: 'warn' | 'redact' | 'block';
};

export type SessionRule = RuleBase & {
  readonly type: 'session';
  readonly limits: SessionLimits;
  readonly action: 'block';
};

/** By tool name or glob, in the order written. */
export type PerToolLimit = readonly (readonly [tool: string, limit: number])[];

/** At least one is set. A limit of N allows N calls. */
export type SessionLimits = {
  readonly maxToolCalls: number | undefined;
  readonly maxAttempts: number | undefined;
  readonly maxCallsPerTool: PerToolLimit;
  /** These extend the public language, because they depend on the success check. Absent if not set. */
  readonly maxFailures?: number;
  readonly maxConsecutiveFailures?: number;
  readonly maxFailuresPerTool?: PerToolLimit;
  readonly maxConsecutiveFailuresPerTool?: PerToolLimit;
};

export type SandboxRule = RuleBase &
  AskTimeout & {
    readonly type: 'sandbox';
    readonly tools: readonly string[];
    readonly within: readonly string[] | undefined;
    readonly notWithin: readonly string[];
    readonly allowedCommands: readonly string[] | undefined;
    readonly allowedDomains: readonly string[] | undefined;
    readonly deniedDomains: readonly string[];
    /** Are chains of commands outside as a whole, or judged command by command? Extends the public language. */
    readonly chains: 'refuse' | 'judge' | undefined;
    readonly outside: 'block' | 'ask';
    /** Absent: any one person. */
    readonly approval?: ApprovalPolicy;
  };

export type SideEffect = 'pure' | 'read' | 'write' | 'irreversible';

/** Facts about tools whose names match a name or glob. */
export type ToolFacts = {
  readonly tool: string;
  readonly sideEffect: SideEffect | undefined;
  readonly idempotent: boolean | undefined;
};
