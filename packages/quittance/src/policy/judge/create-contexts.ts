/** The context in which the rules of a policy are compiled: the host's world, the redactor, the patterns. */
import type { Redactor } from '../../base/redaction.ts';
import { createRedactor } from '../../base/redaction.ts';
import { CallFacts } from './call-facts.ts';
import type { TraceLeaf } from './compile-expression.ts';
import type { ComposedRule } from '../language/composed-rules.ts';
import { contractsError } from '../language/contracts-problem.ts';
import type { Expression } from '../language/expression.ts';
import type { CompileContext } from './fire-rule.ts';
import type { LinearRegex } from '../regex/linear-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';

export type PolicyOptions = {
  /** Masks values in messages. Default: the default redaction. */
  readonly redactor?: Redactor | undefined;
  /** Called for every evaluated leaf of every condition. */
  readonly trace?: ((ruleId: string, ...step: Parameters<TraceLeaf>) => void) | undefined;
};

type WorldOfCalls = {
  readonly world: PolicyWorld;
  readonly setFacts: (call: PolicyCall, facts: CallFacts) => void;
};

/** Adds `found` and `counted` to the host's world. The resources of a call are found once for all its rules. */
export function createPolicyWorld(given: PolicyWorld): WorldOfCalls {
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

export type ContextOf = (rule: ComposedRule) => CompileContext;

/** The context for compiling each rule. Rules share their patterns. */
export function createContexts(
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

/** The regular expressions of a rule's condition. */
export function* patternsOf(rule: ComposedRule['rule']): Generator<string, void, undefined> {
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
export function readRegex(pattern: string, id: string, source: string): LinearRegex {
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
