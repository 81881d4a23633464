/** The report of a backtest: counts for each kind of change and each rule. */
import type { JsonValue } from '../base/json.ts';
import type { FiredRule } from '../policy/language/ruling.ts';

/** The decision before a call runs. `refused` comes from its schema, not from a rule. */
export type CallWord = 'allow' | 'ask' | 'block' | 'refused';
/** The decision on its output. */
export type OutputWord = 'pass' | 'warn' | 'redact' | 'block' | 'refused';

/** One call: the recorded decision and the new one. */
export type CallVerdict = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly at: number;
  /** Stored form. */
  readonly input: JsonValue;
  readonly before: { readonly call: CallWord; readonly output: OutputWord | undefined };
  /** `output` is undefined if there is no output to judge, or the call would not run. */
  readonly after: { readonly call: CallWord; readonly output: OutputWord | undefined };
  /** Every rule that would fire, including rules that only observe. */
  readonly fired: { readonly call: readonly FiredRule[]; readonly output: readonly FiredRule[] };
  /** Why a schema rejects it, in words. */
  readonly refusal: string | undefined;
  /** Rules saw a mask or an artifact name, because the value is redacted or stored as an artifact. */
  readonly byKeptForm: boolean;
  /** A confirmation of the call expired without a decision. */
  readonly unanswered: boolean;
};

/** Why a call could not be judged. */
export type NotJudged =
  /** A schema, a deadline or a guard stopped it before the rules, or its owner died. */
  | 'never_reached_rules'
  /** Its input has been erased. */
  | 'erased';

export type BacktestSample = Pick<CallVerdict, 'sessionId' | 'callId' | 'toolName' | 'at' | 'byKeptForm'> & {
  /** The arguments in stored form, as JSON, cut short. */
  readonly input: string;
  readonly ruleId: string | undefined;
  readonly message: string | undefined;
};

export type BacktestChange = {
  readonly about: 'call' | 'output';
  readonly before: CallWord | OutputWord;
  readonly after: CallWord | OutputWord;
  readonly count: number;
  readonly samples: readonly BacktestSample[];
};

export type BacktestRule = {
  readonly ruleId: string;
  readonly action: FiredRule['action'];
  /** The rule only observes. */
  readonly observed: boolean;
  /** Calls it fired for. */
  readonly count: number;
  /** How many of these would be decided differently. */
  readonly different: number;
  readonly samples: readonly BacktestSample[];
};

export type BacktestReport = {
  /** Version of the tried rules. */
  readonly policyVersion: string;
  readonly sessions: number;
  /** Calls in the slice. */
  readonly calls: number;
  readonly judged: number;
  /** Calls that would be decided differently. */
  readonly different: number;
  readonly notJudged: { readonly [Why in NotJudged]: number };
  /** Calls evaluated in their stored form. */
  readonly byKeptForm: number;
  /** Calls with an expired confirmation. The backtest assumes that it expires again. */
  readonly unanswered: number;
  /** Most frequent first. */
  readonly changes: readonly BacktestChange[];
  readonly rules: readonly BacktestRule[];
  /** False if the backtest was stopped before the end. */
  readonly complete: boolean;
};
