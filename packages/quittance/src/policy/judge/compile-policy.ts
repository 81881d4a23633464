/**
 * Compiles documents so that they can judge calls. Everything is compiled once, here, and invalid rules are rejected
 * here; nothing throws later. A call pays only for the rules that can apply to its tool.
 */
import type { Awaitable, JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import { finishSteps } from '../../base/steps.ts';
import { compileAfterRule, type AfterRule } from './after-rule.ts';
import { compileBeforeRule, type BeforeRule } from './before-rule.ts';
import { CallFacts } from './call-facts.ts';
import type { ComposedRule, ComposedRules } from '../language/composed-rules.ts';
import type { CompileContext, FireRule } from './fire-rule.ts';
import { compileFire, onlyObserves } from './fire-rule.ts';
import type { ToolEnd, OutputView } from './output-view.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import { createRuleIndex, type RuleIndex } from '../language/rule-index.ts';
import type { FiredRule, OutputRuling, Ruling } from '../language/ruling.ts';
import type { LimitShare } from '../language/session-limits.ts';
import { compileSessionLimits } from '../language/session-limits.ts';
import type { SessionCounters, SessionMetric } from '../language/session-metric.ts';
import type { Workflow } from '../language/workflow.ts';
import {
  type PolicyOptions,
  createPolicyWorld,
  type ContextOf,
  createContexts,
  patternsOf,
} from './create-contexts.ts';
import type { Expression, Selector } from '../language/expression.ts';
import { selectorsIn } from './fill-message.ts';
import { countSelectors, sessionMetrics } from '../language/session-metric.ts';
import { isPromiseLike } from '../../base/deadlines.ts';
import { combineRulings } from '../language/ruling.ts';
import type { AfterVerdict } from './after-rule.ts';
import { viewOutput } from './output-view.ts';
import { quote } from '../../base/nearest.ts';
import { compileGlob } from '../regex/glob.ts';
import { toolsOfRule } from '../language/rule-tools.ts';
import { digestJson } from '../../base/canonical.ts';
import type { SideEffect, ToolFacts } from '../language/ruleset.ts';

export type { ToolEnd } from './output-view.ts';

export type { LimitShare } from '../language/session-limits.ts';

export type { SessionCounters, SessionMetric } from '../language/session-metric.ts';

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

/** Finds the failure counters that conditions and messages read. Only these are kept. */

/** A counter of the whole session is needed for every tool, whatever tool the rule applies to. */
function compileCountsNeeded(rules: readonly ComposedRule[], world: PolicyWorld): RuleIndex<SessionMetric> {
  return createRuleIndex(
    rules.flatMap(({ rule }) => {
      const selectors = [
        ...(rule.type === 'pre' ? selectorsOf(rule.when) : []),
        ...(rule.type === 'code' || rule.type === 'post' ? [] : selectorsIn(rule.message, world)),
      ];
      const tools = rule.type === 'pre' ? [rule.tool] : rule.type === 'sandbox' ? rule.tools : undefined;
      return selectors.flatMap(metricOf).map((metric) => ({
        tools: sessionMetrics[metric].perTool ? tools : undefined,
        entry: metric,
      }));
    }),
  );
}

const metricOf = ({ source, path }: Selector): readonly SessionMetric[] => {
  const metric = source === 'session' ? countSelectors.get(path.join('.')) : undefined;
  return metric === undefined ? [] : [metric];
};

function selectorsOf(expression: Expression): readonly Selector[] {
  switch (expression.type) {
    case 'leaf':
      return [expression.selector, ...(expression.operandFrom === undefined ? [] : [expression.operandFrom])];
    case 'not':
      return selectorsOf(expression.of);
    case 'all':
    case 'any':
      return expression.of.flatMap(selectorsOf);
  }
}

const nothing: readonly FiredRule[] = Object.freeze([]);

/** Asks every rule in order, even after one has blocked. Waits only for code rules that return promises. */
function judgeCall(rules: readonly BeforeRule[], facts: CallFacts, version: string): Awaitable<Ruling> {
  let answers: Awaitable<FiredRule | undefined>[] | undefined;
  let isWaiting = false;
  for (const rule of rules) {
    const answer = rule(facts);
    if (answer === undefined) continue;
    (answers ??= []).push(answer);
    isWaiting ||= isPromiseLike(answer);
  }
  if (answers === undefined) return combineRulings(nothing, nothing, version);
  if (isWaiting)
    return Promise.all(answers.map(async (answer) => await answer)).then((all) => gather(all, version));
  // With no promise among them, the answers are final.
  return gather(answers as FiredRule[], version);
}

function gather(answers: readonly (FiredRule | undefined)[], version: string): Ruling {
  const fired: FiredRule[] = [];
  const observed: FiredRule[] = [];
  for (const answer of answers) if (answer !== undefined) (answer.observed ? observed : fired).push(answer);
  return combineRulings(fired, observed, version);
}

/**
 * Judges the end of a call. Rules are asked in order, and each sees the output that earlier rules left. Messages are
 * written last, from the final output, so a warning never quotes a value that a later rule hides.
 */

function judgeOutput(
  rules: readonly AfterRule[],
  call: PolicyCall,
  end: ToolEnd,
  version: string,
): Awaitable<OutputRuling> {
  if (rules.length === 0) return pass(end, version);
  const verdicts: AfterVerdict[] = [];
  let at = end;
  let view = viewOutput(end);

  const take = (verdict: AfterVerdict | undefined): void => {
    if (verdict === undefined) return;
    verdicts.push(verdict);
    if (verdict.observed || verdict.end === undefined) return;
    at = verdict.end;
    view = viewOutput(at);
  };

  const judgeFrom = (from: number): Awaitable<OutputRuling> => {
    for (let index = from; index < rules.length; index++) {
      const verdict = rules[index]?.(call, at, view);
      if (!isPromiseLike(verdict)) take(verdict);
      else
        return verdict.then((later) => {
          take(later);
          return judgeFrom(index + 1);
        });
    }
    return verdicts.length === 0 ? pass(at, version) : decideOutput(verdicts, call, view, at, version);
  };

  return judgeFrom(0);
}

const outputOf = (end: ToolEnd): JsonValue => (end.type === 'result' ? end.value : end.text);

const pass = (end: ToolEnd, policyVersion: string): OutputRuling => ({
  decision: 'pass',
  decidedBy: undefined,
  fired: nothing,
  observed: nothing,
  output: outputOf(end),
  policyVersion,
});

const strongestFirst = ['block', 'redact', 'warn'] as const;

function decideOutput(
  verdicts: readonly AfterVerdict[],
  call: PolicyCall,
  view: OutputView,
  end: ToolEnd,
  policyVersion: string,
): OutputRuling {
  const all = verdicts.map(({ fire }) => fire(call, view));
  const fired = all.filter(({ observed }) => !observed);
  const observed = all.filter((rule) => rule.observed);
  const output = outputOf(end);
  for (const action of strongestFirst) {
    const decidedBy: FiredRule | undefined = fired.find((rule) => rule.action === action);
    if (decidedBy !== undefined)
      return { decision: action, decidedBy, fired, observed, output, policyVersion };
  }
  return { decision: 'pass', decidedBy: undefined, fired, observed, output, policyVersion };
}

/** The default-deny switch: `defaults.unlisted_tools: block` blocks calls of tools that the documents do not name. */

/** No rule of a document can have this id, because rule ids contain no dots. */
const unlistedRuleId = 'defaults.unlisted_tools';

/** Undefined if the documents do not enable the switch. */
function compileUnlistedTools({ unlistedTools, rules, tools }: ComposedRules): BeforeRule | undefined {
  if (unlistedTools === undefined) return undefined;
  const patterns = [
    ...tools.map(({ tool }) => tool),
    // A rule that only observes does not say what may run, and a rule about every tool names none.
    ...rules.filter((rule) => !onlyObserves(rule)).flatMap(({ rule }) => toolsOfRule(rule)),
  ].filter((pattern) => pattern !== '*');
  const globs = patterns.map((pattern) => compileGlob(pattern));
  const known = new Map<string, boolean>();
  const isListed = (toolName: string): boolean => {
    const found = known.get(toolName) ?? globs.some((glob) => glob.matches(toolName));
    // A model may invent any number of names.
    if (known.size < mostKnown) known.set(toolName, found);
    return found;
  };
  return ({ call: { toolName } }) =>
    isListed(toolName)
      ? undefined
      : {
          ruleId: unlistedRuleId,
          ruleType: 'pre',
          action: 'block',
          message: `The tool ${quote(toolName)} is not among the tools that may be called.`,
          tags: [],
          metadata: undefined,
          policyError: false,
          observed: unlistedTools.mode === 'observe',
        };
}

const mostKnown = 1_000;

/**
 * Digest of a rule: equal for rules with equal bodies, whatever document they are in. A code rule is identified by
 * its source text, which is all that can be seen of it.
 */
export function digestRule({ rule, mode, candidate }: ComposedRule): string {
  const body = rule.type === 'code' ? { ...rule, check: Function.prototype.toString.call(rule.check) } : rule;
  // Serialised first, which drops undefined fields.
  return digestJson(JSON.parse(JSON.stringify({ body, mode, candidate })) as JsonValue);
}

/** The facts that documents state about one tool. */
export type KnownToolFacts = {
  /** Irreversible by default: unknown never means safe. */
  readonly sideEffect: SideEffect;
  /** False withdraws the tool's own declaration; true grants nothing. */
  readonly idempotent: boolean | undefined;
};

const unlisted: KnownToolFacts = Object.freeze({ sideEffect: 'irreversible', idempotent: undefined });

/** Each fact is resolved separately: an exact name beats a pattern, a later pattern beats an earlier one. */
export function compileToolFacts(facts: readonly ToolFacts[]): (toolName: string) => KnownToolFacts {
  const compiled = facts.map((fact) => ({ fact, glob: compileGlob(fact.tool) }));
  // From the most to the least specific.
  const ranked = [
    ...compiled.filter(({ glob }) => glob.exact !== undefined).reverse(),
    ...compiled.filter(({ glob }) => glob.exact === undefined).reverse(),
  ];
  const find = createRuleIndex(ranked.map(({ fact }) => ({ tools: [fact.tool], entry: fact })));
  return (toolName) => {
    const about = find(toolName);
    return about.length === 0
      ? unlisted
      : {
          sideEffect: about.find(({ sideEffect }) => sideEffect !== undefined)?.sideEffect ?? 'irreversible',
          idempotent: about.find(({ idempotent }) => idempotent !== undefined)?.idempotent,
        };
  };
}
