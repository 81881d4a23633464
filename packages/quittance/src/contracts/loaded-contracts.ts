/**
 * Contracts in force, and how other contracts replace them.
 *
 * A reload reads and compiles everything first, and then swaps at once. A call is judged by the old rules or by the
 * new ones, never by a mix. Documents with a problem leave the old rules in force.
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
import type { KnownTool, LintWarning } from '../policy/language/lint-warning.ts';
import type { PolicyCall } from '../policy/language/policy-call.ts';
import type { OutputRuling, Ruling } from '../policy/language/ruling.ts';
import type { WorkflowHost } from '../policy/workflow/first-shut-gate.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import type { ContractsOptions } from './contracts-options.ts';
import { createWorkflowHost, createWorld } from './contracts-options.ts';

/** A call to be judged without a runtime. */
export type CallToJudge = Pick<PolicyCall, 'toolName'> & {
  readonly input?: JsonObject;
} & {
  readonly [Name in 'principal' | 'metadata' | 'snapshot' | 'resources' | 'mode' | 'risk']?: PolicyCall[Name];
};

/** Further facts about a call to explain. */
export type CallCircumstances = Pick<ExplainOptions, 'counters' | 'end' | 'stateOf'>;

/** The contracts read from one source: composed rules, and their texts. */
export type ReadContracts = {
  readonly composed: ComposedRules;
  readonly documents: readonly ContractDocument[];
  /** The files they came from, absolute. */
  readonly files: readonly string[];
};

/** Follows a replacement in the way it was made. An immediate one is followed before this returns. */
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
  /** Number of replacements so far, and the one in force. */
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

  /** Version of the rules in force: sha256 over the documents. */
  get version(): string {
    return this.policy.version;
  }

  /** Overridden rules, candidates, and warnings. */
  get report(): CompositionReport {
    return this.#inForce.composed.report;
  }

  /** The ruling on a call. Session limits are judged by the counters, if given. */
  evaluate(call: CallToJudge, counters?: SessionCounters): Awaitable<Ruling> {
    return this.policy.judgeCall(toPolicyCall(call), counters);
  }

  /** The ruling of the post rules on its result. */
  evaluateOutput(call: CallToJudge, end: ToolEnd): Awaitable<OutputRuling> {
    return this.policy.judgeOutput(toPolicyCall(call), end);
  }

  /** Explains the ruling: every rule, the values it read and the result, with secrets masked. */
  explain(call: CallToJudge, about: CallCircumstances = {}): Promise<CallExplanation> {
    return this.#explain(this.#inForce.composed, toPolicyCall(call), about);
  }

  /** Possible problems of the rules, although they can be loaded. More are found with the tools, and their schemas. */
  check(knownTools?: readonly (string | KnownTool)[]): readonly LintWarning[] {
    return lintRules(this.#inForce.composed, knownTools);
  }

  /** Puts other rules into force. If they are invalid, throws and keeps the old ones. */
  replace(read: ReadContracts): void {
    this.#replacements++;
    this.#inForce = finishSteps(this.#compile(read));
    this.#inForceSince = this.#replacements;
    for (const tell of this.#listeners) void tell('at once');
  }

  /**
   * The same while the event loop stays free. If later rules came into force meanwhile, those stay. Resolves when
   * contracts made of these have followed too.
   */
  async replaceInSlices(read: ReadContracts): Promise<void> {
    const mine = ++this.#replacements;
    const next = await takeSteps(this.#compile(read));
    if (this.#inForceSince > mine) return;
    this.#inForce = next;
    this.#inForceSince = mine;
    for (const tell of this.#listeners) await tell('in slices');
  }

  /** Calls `tell` whenever other rules came into force. Returns a function that stops this. */
  onReplaced(tell: Follow): () => void {
    this.#listeners.add(tell);
    return () => this.#listeners.delete(tell);
  }

  /** Stops watching for changes; the rules stay in force. */
  close(): void {
    this.#close?.();
    this.#close = undefined;
  }

  /** Sets what `close` must stop. */
  closeWith(close: () => void): void {
    this.#close = close;
  }

  /** The same rules, with relative paths resolved against this folder. They are not reloaded. */
  inDirectory(workingDirectory: string): LoadedContracts {
    return new LoadedContracts(this.#inForce, { ...this.#options, workingDirectory });
  }

  /** The parts they are made of, for combining several. */
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
  mode,
  risk,
}: CallToJudge): PolicyCall => ({
  toolName,
  input,
  principal,
  metadata,
  snapshot,
  resources,
  mode,
  risk,
});
