/**
 * The limits of session rules, as shares of counters. A counter belongs to the session, not to a rule: two rules
 * about `max_tool_calls` read one number, and a reloaded document continues from it. A limit of N allows N calls: it
 * applies once N have been counted.
 */
import type { JsonObject } from '../../base/json.ts';
import { createRuleIndex } from './rule-index.ts';
import type { RuleMode, SessionLimits, SessionRule } from './ruleset.ts';
import type { SessionCounters, SessionMetric } from './session-metric.ts';
import { counterNameOf, countOfMetric } from './session-metric.ts';

/** The part of one counter that one rule allows. */
export type LimitShare = {
  readonly ruleId: string;
  readonly metric: SessionMetric;
  /** Name of the counter within its session: the same for every rule that counts the same thing. */
  readonly counter: string;
  readonly limit: number;
  /** As in the document; `limitFired` fills it in. */
  readonly message: string;
  readonly tags: readonly string[];
  readonly metadata: JsonObject | undefined;
  /** Under `observe`, and for a candidate, nothing is denied: `limitFired` reports what would have been. */
  readonly mode: RuleMode;
  readonly candidate: boolean;
};

/** The compiled limits of a rule. */
export type CompiledLimits = {
  /** Their shares for a call of this tool. */
  readonly sharesOf: (toolName: string) => readonly LimitShare[];
  /** Is one of them used up? */
  readonly isUsedUp: (toolName: string, counters: SessionCounters) => boolean;
};

type Bound = { readonly metric: SessionMetric; readonly limit: number };

/**
 * In a limit per tool, a pattern gives each matching tool its own count: that is the meaning of "per tool". If
 * several entries match a tool, all of them apply.
 */
export function compileSessionLimits(
  { limits, message, tags, metadata }: SessionRule,
  { id, mode, candidate }: { readonly id: string; readonly mode: RuleMode; readonly candidate: boolean },
): CompiledLimits {
  const boundsOf = createRuleIndex<Bound>([
    ...wholeLimits.flatMap(([key, metric]) => {
      const limit = limits[key];
      return limit === undefined ? [] : [{ tools: undefined, entry: { metric, limit } }];
    }),
    ...perToolLimits.flatMap(([key, metric]) =>
      (limits[key] ?? []).map(([tool, limit]) => ({ tools: [tool], entry: { metric, limit } })),
    ),
  ]);
  return {
    sharesOf: (toolName) =>
      boundsOf(toolName).map(({ metric, limit }) => ({
        ruleId: id,
        metric,
        counter: counterNameOf(metric, toolName),
        limit,
        message,
        tags,
        metadata,
        mode,
        candidate,
      })),
    isUsedUp: (toolName, counters) =>
      boundsOf(toolName).some(({ metric, limit }) => countOfMetric(metric, counters, toolName) >= limit),
  };
}

type KeysOf<Value> = {
  [Key in keyof SessionLimits]-?: SessionLimits[Key] extends Value ? Key : never;
}[keyof SessionLimits];

const wholeLimits: readonly (readonly [KeysOf<number | undefined>, SessionMetric])[] = [
  ['maxToolCalls', 'tool_calls'],
  ['maxAttempts', 'attempts'],
  ['maxFailures', 'failures'],
  ['maxConsecutiveFailures', 'consecutive_failures'],
];

/** Each metric with its field in the limits of a document. */
export const perToolLimits: readonly (readonly [
  KeysOf<readonly (readonly [string, number])[] | undefined>,
  SessionMetric,
])[] = [
  ['maxCallsPerTool', 'calls_per_tool'],
  ['maxFailuresPerTool', 'failures_per_tool'],
  ['maxConsecutiveFailuresPerTool', 'consecutive_failures_per_tool'],
];
