/**
 * Compiles documents so that they can judge calls. Everything is compiled once, here, and invalid rules are rejected
 * here; nothing throws later. A call pays only for the rules that can apply to its tool.
 */
import type { Awaitable } from '../../base/json.ts';
import type { Redactor } from '../../base/redaction.ts';
import { createRedactor } from '../../base/redaction.ts';
import type { Steps } from '../../base/steps.ts';
import { finishSteps } from '../../base/steps.ts';
import { compileAfterRule, type AfterRule } from './after-rule.ts';
import { compileBeforeRule, type BeforeRule } from './before-rule.ts';
import { CallFacts } from './call-facts.ts';
import type { TraceLeaf } from './compile-expression.ts';
import type { ComposedRule, ComposedRules } from '../language/composed-rules.ts';
import { contractsError } from '../language/contracts-problem.ts';
import type { Expression } from '../language/expression.ts';
import { compileCountsNeeded } from './counts-needed.ts';
import type { CompileContext, FireRule } from './fire-rule.ts';
import { compileFire } from './fire-rule.ts';
import { judgeCall } from './judge-call.ts';
import { judgeOutput } from './judge-output.ts';
import type { LinearRegex } from '../regex/linear-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';
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

export type PolicyOptions = {
  /** Masks values in messages. Default: the default redaction. */
  readonly redactor?: Redactor | undefined;
  /** Called for every evaluated leaf of every condition. */
  readonly trace?: ((ruleId: string, ...step: Parameters<TraceLeaf>) => void) | undefined;
};

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
  const { world, setFacts } = createWorld(given);
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

type WorldOfCalls = {
  readonly world: PolicyWorld;
  readonly setFacts: (call: PolicyCall, facts: CallFacts) => void;
};

/** Adds `found` and `counted` to the host's world. The resources of a call are found once for all its rules. */
function createWorld(given: PolicyWorld): WorldOfCalls {
  const factsOf = new WeakMap<PolicyCall, CallFacts>();
  const found = (call: PolicyCall): ReturnType<CallFacts['texts']> => {
    const facts = factsOf.get(call) ?? new CallFacts(call, undefined, given);
    factsOf.set(call, facts);
    return facts.texts();
  };
  // Getters are copied, not called: a getter that throws must throw when a rule uses it, and count against that call.
  const world: PolicyWorld = Object.defineProperties({} as PolicyWorld, {
    ...Object.getOwnPropertyDescriptors(given),
    found: { value: found, enumerable: true },
    counted: { value: (call: PolicyCall) => factsOf.get(call)?.counters, enumerable: true },
  });
  return { world, setFacts: (call, facts) => void factsOf.set(call, facts) };
}

type RuleIndexes = { readonly before: RuleIndex<BeforeRule>; readonly after: RuleIndex<AfterRule> };

type ContextOf = (rule: ComposedRule) => CompileContext;

/** The context for compiling each rule. Rules share their patterns. */
function createContexts(
  world: PolicyWorld,
  { redactor = createRedactor(), trace }: PolicyOptions,
): ContextOf {
  const known = new Map<string, LinearRegex>();
  return ({ id, source }) => ({
    world,
    redactor,
    traceLeaf: trace && ((...step) => trace(id, ...step)),
    readRegex: (pattern) => {
      const regex = known.get(pattern) ?? readRegex(pattern, id, source);
      known.set(pattern, regex);
      return regex;
    },
  });
}

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

/** The regular expressions of a rule's condition. */
function* patternsOf(rule: ComposedRule['rule']): Generator<string, void, undefined> {
  if (rule.type === 'pre' || rule.type === 'post') yield* patternsIn(rule.when);
}

function* patternsIn(expression: Expression): Generator<string, void, undefined> {
  switch (expression.type) {
    case 'all':
    case 'any':
      for (const part of expression.of) yield* patternsIn(part);
      return;
    case 'not':
      yield* patternsIn(expression.of);
      return;
    case 'leaf': {
      const { operator, operand } = expression;
      if (operator !== 'matches' && operator !== 'matches_any') return;
      for (const pattern of Array.isArray(operand) ? operand : [operand])
        if (typeof pattern === 'string') yield pattern;
    }
  }
}

/** Patterns of documents were checked when they were read; patterns of programmatic rules were not. */
function readRegex(pattern: string, id: string, source: string): LinearRegex {
  const reading = parseRegex(pattern);
  if (reading.ok) return reading.regex;
  throw contractsError([
    {
      source,
      line: undefined,
      column: undefined,
      field: `rule ${id}`,
      message: `The pattern ${JSON.stringify(pattern)} cannot be used: ${reading.problem}`,
    },
  ]);
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
