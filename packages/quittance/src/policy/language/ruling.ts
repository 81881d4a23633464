/** The ruling of a policy on a call before it runs, and on its result. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ApprovalPolicy } from '../../call/approval-policy.ts';
import type { AskTimeout } from './ruleset.ts';

/** One rule that fired. */
export type FiredRule = {
  readonly ruleId: string;
  readonly ruleType: 'pre' | 'post' | 'session' | 'sandbox' | 'workflow' | 'code';
  readonly action: 'block' | 'ask' | 'warn' | 'redact';
  /** With its selectors filled in and secrets masked. */
  readonly message: string;
  readonly tags: readonly string[];
  readonly metadata: JsonObject | undefined;
  /** The condition met a value of the wrong type, which makes a rule fire. */
  readonly policyError: boolean;
  /** How a rule written as a function failed, for the developer. */
  readonly mistake?: string;
  /** The rule only reports what it would have done. */
  readonly observed: boolean;
  /** For an `ask`: how long a person may take, and what happens after that. */
  readonly timeoutSeconds?: number;
  readonly timeoutEffect?: 'block' | 'allow';
  /** For an `ask`: who must approve. Absent: any one person. */
  readonly approval?: ApprovalPolicy;
};

/** Block beats ask beats allow, whatever the order of the rules. */
export type Ruling = {
  readonly decision: 'allow' | 'ask' | 'block';
  /** The first rule that blocks, else the first that asks. */
  readonly decidedBy: FiredRule | undefined;
  /** Every fired rule that counts, in the order of the documents. */
  readonly fired: readonly FiredRule[];
  /** Every fired rule that only observes, candidates last. */
  readonly observed: readonly FiredRule[];
  readonly policyVersion: string;
};

/** The ruling of post rules on a result. */
export type OutputRuling = {
  readonly decision: 'pass' | 'warn' | 'redact' | 'block';
  readonly decidedBy: FiredRule | undefined;
  readonly fired: readonly FiredRule[];
  readonly observed: readonly FiredRule[];
  /** The result, or the text of the error, after redaction; the same value if nothing was redacted. */
  readonly output: JsonValue;
  readonly policyVersion: string;
};

const nothing: readonly FiredRule[] = Object.freeze([]);

/** Combines the fired rules: pre, session, sandbox and code rules, and workflows. */
export function combineRulings(
  fired: readonly FiredRule[],
  observed: readonly FiredRule[],
  policyVersion: string,
): Ruling {
  const decidedBy = fired.length === 0 ? undefined : (firstOf(fired, 'block') ?? firstOf(fired, 'ask'));
  const decision = decidedBy === undefined ? 'allow' : decidedBy.action === 'block' ? 'block' : 'ask';
  return {
    decision,
    decidedBy,
    fired: fired.length === 0 ? nothing : fired,
    observed: observed.length === 0 ? nothing : observed,
    policyVersion,
  };
}

const firstOf = (fired: readonly FiredRule[], action: FiredRule['action']): FiredRule | undefined =>
  fired.find((rule) => rule.action === action);

const defaultTimeout: AskTimeout = { timeoutSeconds: 300, timeoutEffect: 'block' };

/** Several asks become one confirmation: the earliest timeout, and block beats allow. Undefined if no rule asks. */
export function mergeAsks(fired: readonly FiredRule[]): AskTimeout | undefined {
  const asks = fired.filter(({ action }) => action === 'ask').map(timeoutOf);
  if (asks.length === 0) return undefined;
  return {
    timeoutSeconds: Math.min(...asks.map(({ timeoutSeconds }) => timeoutSeconds)),
    timeoutEffect: asks.every(({ timeoutEffect }) => timeoutEffect === 'allow') ? 'allow' : 'block',
  };
}

/** The effect of a confirmation timeout, and the rule that sets it. Block if no rule asks. */
export function timeoutDecision(fired: readonly FiredRule[]): {
  readonly decision: 'allow' | 'block';
  readonly decidedBy: FiredRule | undefined;
} {
  const decision = mergeAsks(fired)?.timeoutEffect ?? 'block';
  const asks = fired.filter(({ action }) => action === 'ask');
  return { decision, decidedBy: asks.find((ask) => timeoutOf(ask).timeoutEffect === decision) };
}

const timeoutOf = ({ timeoutSeconds, timeoutEffect }: FiredRule): AskTimeout => ({
  timeoutSeconds: timeoutSeconds ?? defaultTimeout.timeoutSeconds,
  timeoutEffect: timeoutEffect ?? defaultTimeout.timeoutEffect,
});
