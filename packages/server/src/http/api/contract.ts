/** Rules: in force, checked, explained and tested. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { CompositionReport } from 'quittance/internal/policy/language/composed-rules';
import type { ContractsProblem } from 'quittance/internal/policy/language/contracts-problem';
import type { CallExplanation } from 'quittance/internal/policy/judge/explain-call';
import type { LintWarning } from 'quittance/internal/policy/language/lint-warning';
import type { Principal } from 'quittance/internal/tool/tool-context';
import type { SpanQuery } from './page.ts';
import type { Integer, Timestamp } from './scalar.ts';

/** `GET /v1/contracts`: the rules in force. */
export type ContractsInForce = {
  /** False if the server was started without rules. */
  readonly loaded: boolean;
  readonly policyVersion: string | undefined;
  readonly documents: readonly ContractDocument[];
  readonly rules: readonly RuleInForce[];
  readonly workflows: readonly string[];
  readonly report: CompositionReport | undefined;
  /** Can `POST /v1/contracts/reload` read the documents again? */
  readonly canReload: boolean;
};
export type ContractDocument = { readonly name: string; readonly stamp: string; readonly text?: string };
export type RuleInForce = {
  readonly ruleId: string;
  readonly type: 'pre' | 'post' | 'session' | 'sandbox' | 'code';
  /** A rule in `observe` only records what it would have done. */
  readonly mode: 'enforce' | 'observe';
  readonly tool: string | undefined;
  readonly action: string | undefined;
  readonly message: string | undefined;
  readonly source: string;
  readonly line: Integer | undefined;
  readonly tags: readonly string[];
};

/** `GET /v1/contracts/versions`: newest first, from the ledger. */
export type ContractsVersions = { readonly rows: readonly ContractsVersion[] };
export type ContractsVersion = {
  readonly policyVersion: string;
  readonly loadedAt: Timestamp;
  readonly documents: readonly ContractDocument[];
};

/** The query of `GET /v1/contracts/hits`. */
export type RuleHitsQuery = SpanQuery;
/** `GET /v1/contracts/hits`: the rules that matched the newest calls. */
export type RuleHits = {
  /** The number of calls examined, newest first. */
  readonly calls: Integer;
  readonly since: Timestamp | undefined;
  /** False if there are older calls that were not examined. */
  readonly exact: boolean;
  readonly rules: readonly RuleHit[];
  /** All calls of the span that rules denied, by rule, however many. */
  readonly denials: readonly {
    readonly ruleId: string;
    readonly calls: Integer;
    readonly lastAt: Timestamp;
  }[];
};
export type RuleHit = {
  readonly ruleId: string;
  readonly action: 'block' | 'ask' | 'warn' | 'redact';
  /** Calls that the rule changed. */
  readonly hits: Integer;
  /** Calls that the rule would have changed, had it been enforced. */
  readonly observed: Integer;
  readonly lastAt: Timestamp;
  readonly lastCall: { readonly sessionId: string; readonly callId: string };
};

/** Documents sent in the request. */
export type TypedDocuments = {
  /** @minItems 1 @maxItems 50 */
  readonly documents: readonly TypedDocument[];
};
export type TypedDocument = {
  /** @minLength 1 @maxLength 200 */
  readonly name: string;
  /** @maxLength 500000 */
  readonly text: string;
};
/** `POST /v1/contracts/validate`. Problems are an answer, not an error. */
export type ContractsCheck = {
  readonly ok: boolean;
  readonly policyVersion: string | undefined;
  readonly problems: readonly ContractsProblem[];
  readonly warnings: readonly LintWarning[];
};
/** `POST /v1/contracts/reload`. If there are problems, the old rules stay in force. */
export type ContractsReload = ContractsCheck & { readonly changed: boolean };

/** `POST /v1/contracts/explain`: what the rules in force, or the given ones, decide about a call. */
export type CallToExplain = Partial<TypedDocuments> & {
  /** @minLength 1 */
  readonly toolName: string;
  readonly arguments?: JsonObject;
  readonly principal?: Principal;
  readonly metadata?: JsonObject;
  /** Send an output to judge it too. */
  readonly output?: JsonValue;
  /** The session whose counters are compared with limits. */
  readonly sessionId?: string;
};
export type ContractsExplanation = CallExplanation & { readonly policyVersion: string };

/** `POST /v1/contracts/backtest`: starts a job whose result is a `BacktestReport`. */
export type NewBacktest = TypedDocuments & {
  readonly sessionId?: string;
  readonly toolName?: string;
  readonly since?: Integer;
  readonly until?: Integer;
};
