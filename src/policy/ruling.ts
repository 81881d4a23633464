/** What a policy says about one call before it runs, and about what came of it. */
import type { JsonObject, JsonValue } from '../base/json.ts';

/** One rule that had something to say. */
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
  /** It only says what it would have done. */
  readonly observed: boolean;
  /** For an `ask`: how long a person has and what happens then. */
  readonly timeoutSeconds?: number;
  readonly timeoutEffect?: 'block' | 'allow';
};

/** Block beats ask beats allow, whatever the order of the rules. */
export type Ruling = {
  readonly decision: 'allow' | 'ask' | 'block';
  /** The first rule that blocks, else the first that asks. */
  readonly decidedBy: FiredRule | undefined;
  /** Every rule that fired and counts, in the order of the documents. */
  readonly fired: readonly FiredRule[];
  /** Every rule that fired and only observes, candidates last. */
  readonly observed: readonly FiredRule[];
  readonly policyVersion: string;
};

/** What post rules make of a result. */
export type OutputRuling = {
  readonly decision: 'pass' | 'warn' | 'redact' | 'block';
  readonly decidedBy: FiredRule | undefined;
  readonly fired: readonly FiredRule[];
  readonly observed: readonly FiredRule[];
  /** The result after redaction; the very same value where nothing was redacted. */
  readonly output: JsonValue;
  readonly policyVersion: string;
};
