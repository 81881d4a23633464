/**
 * Contracts in force, and how others come to be in force instead.
 *
 * A reload reads and compiles everything first and swaps at once: a call is judged by the old rules or by the new ones,
 * never by some of each, and documents with a problem leave the old ones in force.
 */
import type { Awaitable, JsonObject } from '../base/json.ts';
import type { Steps } from '../base/steps.ts';
import { finishSteps, takeSteps } from '../base/steps.ts';
import type { Policy, SessionCounters, ToolEnd } from '../policy/judge/compile-policy.ts';
import { compileInSteps } from '../policy/judge/compile-policy.ts';
import type { ComposedRules, CompositionReport } from '../policy/language/composed-rules.ts';
import type { ContractDocument, Contracts } from '../policy/judge/contracts.ts';
import type { CallExplanation, ExplainOptions } from '../policy/judge/explain-call.ts';
import { explainCall } from '../policy/judge/explain-call.ts';
import { lintRules } from '../policy/compose/lint-rules.ts';
import type { LintWarning } from '../policy/language/lint-warning.ts';
import type { PolicyCall } from '../policy/language/policy-call.ts';
import type { OutputRuling, Ruling } from '../policy/language/ruling.ts';
import type { WorkflowHost } from '../policy/workflow/first-shut-gate.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import type { ContractsOptions } from './contracts-options.ts';
import { createWorkflowHost, createWorld } from './contracts-options.ts';

/** A call to be judged without a runtime. */
export type CallToJudge = Pick<PolicyCall, 'toolName'> & {
  readonly input?: JsonObject;
} & { readonly [Name in 'principal' | 'metadata' | 'snapshot' | 'resources']?: PolicyCall[Name] };

/** What else there is to know about a call that is explained. */
export type CallCircumstances = Pick<ExplainOptions, 'counters' | 'end' | 'stateOf'>;

/** What is read from one place: rules put together, and the texts they stand in. */
export type ReadContracts = {
  readonly composed: ComposedRules;
  readonly documents: readonly ContractDocument[];
  /** The files they came from, absolute. */
  readonly files: readonly string[];
};

/** Follows a replacement the way it was made. One at once is followed before this returns. */
type Follow = (how: 'at once' | 'in slices') => Awaitable<void>;

type InForce = ReadContracts & { readonly policy: Policy };

export class LoadedContracts implements Contracts {
  readonly successCheck: SuccessCheck | undefined;
  readonly workflowHost: WorkflowHost;
  readonly #compile: (read: ReadContracts) => Steps<InForce>;
  readonly #explain: (
    composed: ComposedRules,
    call: PolicyCall,
    about: CallCircumstances,
  ) => Promise<CallExplanation>;
  readonly #options: ContractsOptions;
  #inForce: InForce;
  /** How many times other rules were given, and which of these times counts. */
  #replacements = 0;
  #inForceSince = 0;
  readonly #listeners = new Set<Follow>();
  #close: (() => void) | undefined;

  constructor(read: ReadContracts, options: ContractsOptions) {
    this.#options = options;
    const world = createWorld(options);
    this.successCheck = options.successCheck;
    this.workflowHost = createWorkflowHost(options);
    this.#compile = function* (found): Steps<InForce> {
      return { ...found, policy: yield* compileInSteps(found.composed, world) };
    };
    this.#explain = (composed, call, about) =>
      explainCall(composed, world, call, {
        ...about,
        workflowHost: this.workflowHost,
      });
    this.#inForce = finishSteps(this.#compile(read));
  }

  get policy(): Policy {
    return this.#inForce.policy;
  }

  get documents(): readonly ContractDocument[] {
    return this.#inForce.documents;
  }

  get files(): readonly string[] {
    return this.#inForce.files;
  }

  /** Stamps the rules in force: sha256 over the documents. */
  get version(): string {
    return this.policy.version;
  }

  /** What was overridden, what is a candidate, and what else is worth knowing. */
  get report(): CompositionReport {
    return this.#inForce.composed.report;
  }

  /** What the rules would say about a call. Session limits are judged by the counters, where some are given. */
  evaluate(call: CallToJudge, counters?: SessionCounters): Awaitable<Ruling> {
    return this.policy.judgeCall(toPolicyCall(call), counters);
  }

  /** What the post rules would say about what came of it. */
  evaluateOutput(call: CallToJudge, end: ToolEnd): Awaitable<OutputRuling> {
    return this.policy.judgeOutput(toPolicyCall(call), end);
  }

  /** Why the rules would say what they would: every rule, what it looked at and what it found, secrets masked. */
  explain(call: CallToJudge, about: CallCircumstances = {}): Promise<CallExplanation> {
    return this.#explain(this.#inForce.composed, toPolicyCall(call), about);
  }

  /** What may be wrong with the rules although they can be loaded. */
  check(knownTools?: readonly string[]): readonly LintWarning[] {
    return lintRules(this.#inForce.composed, knownTools);
  }

  /** Puts other rules into force. Throws, and leaves the old ones, where they cannot be. */
  replace(read: ReadContracts): void {
    this.#replacements++;
    this.#inForce = finishSteps(this.#compile(read));
    this.#inForceSince = this.#replacements;
    for (const tell of this.#listeners) void tell('at once');
  }

  /**
   * The same while the event loop stays free. Rules that were given later and came into force meanwhile stay in force.
   * Resolves when contracts made of these follow, too.
   */
  async replaceInSlices(read: ReadContracts): Promise<void> {
    const mine = ++this.#replacements;
    const next = await takeSteps(this.#compile(read));
    if (this.#inForceSince > mine) return;
    this.#inForce = next;
    this.#inForceSince = mine;
    for (const tell of this.#listeners) await tell('in slices');
  }

  /** Tells whenever other rules came into force, and how they did. Gives the way to stop it. */
  onReplaced(tell: Follow): () => void {
    this.#listeners.add(tell);
    return () => this.#listeners.delete(tell);
  }

  /** Stops looking for changes; the rules stay in force. */
  close(): void {
    this.#close?.();
    this.#close = undefined;
  }

  /** What `close` has to stop. */
  closeWith(close: () => void): void {
    this.#close = close;
  }

  /** The same rules, with relative paths relative to this folder. They are not reloaded. */
  inDirectory(workingDirectory: string): LoadedContracts {
    return new LoadedContracts(this.#inForce, { ...this.#options, workingDirectory });
  }

  /** What they are made of, for whoever puts several together. */
  get read(): ReadContracts {
    return this.#inForce;
  }
}

const toPolicyCall = ({
  toolName,
  input = {},
  principal,
  metadata,
  snapshot,
  resources,
}: CallToJudge): PolicyCall => ({ toolName, input, principal, metadata, snapshot, resources });
