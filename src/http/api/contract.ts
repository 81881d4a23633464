/** Rules: read, tried, checked, and what became of them. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { CompositionReport } from '../../policy/language/composed-rules.ts';
import type { ContractsProblem } from '../../policy/language/contracts-problem.ts';
import type { CallExplanation } from '../../policy/judge/explain-call.ts';
import type { LintWarning } from '../../policy/language/lint-warning.ts';
import type { Principal } from '../../tool/tool-context.ts';

/** `GET /v1/contracts`: what is in force. */
export type ContractsInForce = {
  /** False where the server was started without any. */
  readonly loaded: boolean;
  readonly policyVersion: string | undefined;
  readonly documents: readonly { readonly name: string; readonly stamp: string; readonly text?: string }[];
  readonly rules: readonly RuleInForce[];
  readonly workflows: readonly string[];
  readonly report: CompositionReport | undefined;
  /** Whether `POST /v1/contracts/reload` can read them again. */
  readonly canReload: boolean;
};
export type RuleInForce = {
  readonly ruleId: string;
  readonly type: 'pre' | 'post' | 'session' | 'sandbox' | 'code';
  /** `observe` only says what it would have done. */
  readonly mode: 'enforce' | 'observe';
  readonly tool: string | undefined;
  readonly action: string | undefined;
  readonly message: string | undefined;
  readonly source: string;
  readonly line: number | undefined;
  readonly tags: readonly string[];
};

/** `GET /v1/contracts/versions`: newest first, from the ledger. */
export type ContractsVersions = { readonly rows: readonly ContractsVersion[] };
export type ContractsVersion = {
  readonly policyVersion: string;
  readonly loadedAt: number;
  readonly documents: readonly { readonly name: string; readonly stamp: string; readonly text?: string }[];
};

/** `GET /v1/contracts/hits`: what rules said about the newest calls. */
export type RuleHits = {
  /** How many calls were looked at: the newest. */
  readonly calls: number;
  readonly since: number | undefined;
  readonly rules: readonly RuleHit[];
};
export type RuleHit = {
  readonly ruleId: string;
  readonly action: 'block' | 'ask' | 'warn' | 'redact';
  /** Calls it had a say in. */
  readonly hits: number;
  /** Calls it would have had one in, if it did more than observe. */
  readonly observed: number;
  readonly lastAt: number;
  readonly lastCall: { readonly sessionId: string; readonly callId: string };
};

/** Documents somebody typed. */
export type TypedDocuments = {
  readonly documents: readonly { readonly name: string; readonly text: string }[];
};
/** `POST /v1/contracts/validate`. Problems are an answer, not an error. */
export type ContractsCheck = {
  readonly ok: boolean;
  readonly policyVersion: string | undefined;
  readonly problems: readonly ContractsProblem[];
  readonly warnings: readonly LintWarning[];
};
/** `POST /v1/contracts/reload`. With a problem the old ones stay in force. */
export type ContractsReload = ContractsCheck & { readonly changed: boolean };

/** `POST /v1/contracts/explain`: what the rules in force, or those given, would say about a call. */
export type CallToExplain = Partial<TypedDocuments> & {
  readonly toolName: string;
  readonly arguments?: JsonObject;
  readonly principal?: Principal;
  readonly metadata?: JsonObject;
  /** To judge what came of it too. */
  readonly output?: JsonValue;
  /** The session whose counters limits are held against. */
  readonly sessionId?: string;
};
export type ContractsExplanation = CallExplanation & { readonly policyVersion: string };

/** `POST /v1/contracts/backtest`: starts a job whose result is a `BacktestReport`. */
export type NewBacktest = TypedDocuments & {
  readonly sessionId?: string;
  readonly toolName?: string;
  readonly since?: number;
  readonly until?: number;
};
