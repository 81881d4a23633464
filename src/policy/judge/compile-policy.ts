/**
 * Compiles documents so that they can judge calls. Everything is compiled once, here, and invalid rules are rejected
 * here; nothing throws later. A call pays only for the rules that can apply to its tool.
 */
import type { Awaitable } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import { finishSteps } from '../../base/steps.ts';
import { compileAfterRule, type AfterRule } from './after-rule.ts';
import { compileBeforeRule, type BeforeRule } from './before-rule.ts';
import { CallFacts } from './call-facts.ts';
import type { ComposedRule, ComposedRules } from '../language/composed-rules.ts';
import { compileCountsNeeded } from './counts-needed.ts';
import type { CompileContext, FireRule } from './fire-rule.ts';
import { compileFire } from './fire-rule.ts';
import { judgeCall } from './judge-call.ts';
import { judgeOutput } from './judge-output.ts';
import type { ToolEnd } from './output-view.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import { digestRule } from '../language/rule-digest.ts';
import { createRuleIndex, type RuleIndex } from '../language/rule-index.ts';
import type { FiredRule, OutputRuling, Ruling } from '../language/ruling.ts';
import type { LimitShare } from '../language/session-limits.ts';
import { compileSessionLimits } from '../language/session-limits.ts';
import type { SessionCounters, SessionMetric } from '../language/session-metric.ts';
import type { KnownToolFacts } from '../language/tool-facts.ts';
import { compileToolFacts } from '../language/tool-facts.ts';
import { compileUnlistedTools } from './unlisted-tools.ts';
import type { Workflow } from '../language/workflow.ts';
import {
  type PolicyOptions,
  createPolicyWorld,
  type ContextOf,
  createContexts,
  patternsOf,
} from './create-contexts.ts';

export type { ToolEnd } from './output-view.ts';

export type { LimitShare } from '../language/session-limits.ts';

export type { SessionCounters, SessionMetric } from '../language/session-metric.ts';

export type { KnownToolFacts } from '../language/tool-facts.ts';

export type Policy = {
  /** Version of the documents, recorded with every decision. */
  readonly version: string;
  readonly workflows: readonly Workflow[];
  readonly composed: ComposedRules;
  /**
   * Asks every pre, sandbox and code rule about a call. Asks session rules too if counters are given. Answers
   * synchronously unless a code rule returns a promise.
   */
  readonly judgeCall: (call: PolicyCall, counters?: SessionCounters) => Awaitable<Ruling>;
  /** Asks every post rule about the end of a call: its result, or the text of its error. */
  readonly judgeOutput: (call: PolicyCall, end: ToolEnd) => Awaitable<OutputRuling>;
  /** The limits to reserve before a call of this tool may run. Observing limits are included. */
  readonly limitsFor: (toolName: string) => readonly LimitShare[];
  /** The counters that conditions and messages read for calls of this tool. Other counters are not kept. */
  readonly countsFor: (toolName: string) => readonly SessionMetric[];
  /** The fired rule for a limit that was used up when this call requested its share. */
  readonly limitFired: (share: LimitShare, call: PolicyCall, counters?: SessionCounters) => FiredRule;
  readonly toolFacts: (toolName: string) => KnownToolFacts;
  /** Digest of the rule with this id; undefined if there is no such rule. */
  readonly digestOf: (ruleId: string) => string | undefined;
};

const noLimits: readonly LimitShare[] = Object.freeze([]);

/** Throws `contracts.invalid` for a pattern that cannot be used. */
export const compilePolicy = (
  composed: ComposedRules,
  given: PolicyWorld,
  options: PolicyOptions = {},
): Policy => finishSteps(compileInSteps(composed, given, options));

/** Like `compilePolicy`, but yields after each pattern and each rule so that the process can do other work. */
export function* compileInSteps(
  composed: ComposedRules,
  given: PolicyWorld,
  options: PolicyOptions = {},
): Steps<Policy> {
  const { world, setFacts } = createPolicyWorld(given);
  const { version, rules } = composed;
  const contextOf = createContexts(world, options);

  // Patterns take longest, and one rule may have thousands. Each is read once here, before a rule needs it.
  for (const rule of rules)
    for (const pattern of patternsOf(rule.rule)) {
      contextOf(rule).readRegex(pattern);
      yield;
    }
  const { before, after } = yield* compileRules(composed, contextOf);
  const session = compileSession(rules, contextOf);
  const toolFacts = compileToolFacts(composed.tools);
  const byId = new Map(rules.map((rule) => [rule.id, rule]));

  return {
    version,
    workflows: composed.workflows,
    composed,
    judgeCall: (call, counters) => {
      const facts = new CallFacts(call, counters, world);
      setFacts(call, facts);
      return judgeCall(before(call.toolName), facts, version);
    },
    judgeOutput: (call, end) => judgeOutput(after(call.toolName), call, end, version),
    limitsFor: (toolName) =>
      session.length === 0 ? noLimits : session.flatMap(({ limits }) => limits.sharesOf(toolName)),
    countsFor: compileCountsNeeded(rules, world),
    limitFired: (share, call, counters) => {
      const rule = session.find(({ id }) => id === share.ruleId);
      setFacts(call, new CallFacts(call, counters, world));
      return rule === undefined ? unknownLimit(share) : rule.fire(call, undefined, false);
    },
    toolFacts,
    digestOf: (ruleId) => {
      const rule = byId.get(ruleId);
      return rule && digestRule(rule);
    },
  };
}

type RuleIndexes = { readonly before: RuleIndex<BeforeRule>; readonly after: RuleIndex<AfterRule> };

/** Compiles the rules that judge calls and results, one step per rule. */
function* compileRules(composed: ComposedRules, contextOf: ContextOf): Steps<RuleIndexes> {
  const beforeRules: NonNullable<ReturnType<typeof compileBeforeRule>>[] = [];
  const afterRules: NonNullable<ReturnType<typeof compileAfterRule>>[] = [];
  for (const rule of composed.rules) {
    const beforeRule = compileBeforeRule(rule, contextOf(rule));
    if (beforeRule !== undefined) beforeRules.push(beforeRule);
    const afterRule = compileAfterRule(rule, contextOf(rule));
    if (afterRule !== undefined) afterRules.push(afterRule);
    yield;
  }
  const unlisted = compileUnlistedTools(composed);
  const before = createRuleIndex([
    ...beforeRules,
    ...(unlisted === undefined ? [] : [{ tools: undefined, entry: unlisted }]),
  ]);
  return { before, after: createRuleIndex(afterRules) };
}

function compileSession(
  rules: readonly ComposedRule[],
  contextOf: (rule: ComposedRule) => CompileContext,
): readonly {
  readonly id: string;
  readonly limits: ReturnType<typeof compileSessionLimits>;
  readonly fire: FireRule;
}[] {
  return rules.flatMap((composed) => {
    const { id, rule } = composed;
    if (rule.type !== 'session') return [];
    return [
      {
        id,
        limits: compileSessionLimits(rule, composed),
        fire: compileFire(composed, rule, contextOf(composed)),
      },
    ];
  });
}

/** For a share that was reserved under documents which have since been replaced. */
const unknownLimit = ({ ruleId, message, tags, metadata, mode, candidate }: LimitShare): FiredRule => ({
  ruleId,
  ruleType: 'session',
  action: 'block',
  message,
  tags,
  metadata,
  policyError: false,
  observed: candidate || mode === 'observe',
});
