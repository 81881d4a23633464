/**
 * The limits of session rules, as shares of counters. What is counted belongs to the session and not to a rule: two
 * rules about `max_tool_calls` look at one number, and a document that is loaded anew goes on where it was. A limit of
 * N lets N through: it bites when N were counted before.
 */
import type { JsonObject } from '../../base/json.ts';
import { createRuleIndex } from './rule-index.ts';
import type { RuleMode, SessionLimits, SessionRule } from './ruleset.ts';
import type { SessionCounters, SessionMetric } from './session-metric.ts';
import { counterNameOf, countOfMetric } from './session-metric.ts';

/** What one rule allows of one counter. */
export type LimitShare = {
  readonly ruleId: string;
  readonly metric: SessionMetric;
  /** Names the number within its session: the same for every rule that counts the same thing. */
  readonly counter: string;
  readonly limit: number;
  /** As in the document; `limitFired` fills it in. */
  readonly message: string;
  readonly tags: readonly string[];
  readonly metadata: JsonObject | undefined;
  /** Under `observe`, and for a candidate, nothing is refused: `limitFired` says what would have been. */
  readonly mode: RuleMode;
  readonly candidate: boolean;
};

/** A rule's limits, made ready. */
export type CompiledLimits = {
  /** What they hold for a call of this tool. */
  readonly sharesOf: (toolName: string) => readonly LimitShare[];
  /** Whether one of them is used up. */
  readonly isUsedUp: (toolName: string, counters: SessionCounters) => boolean;
};

type Bound = { readonly metric: SessionMetric; readonly limit: number };

/**
 * In a limit per tool a pattern gives each tool it matches that many of its own: that is what "per tool" says. Where
 * several entries match a tool, all of them hold.
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

/** With the field of the limits of a document that each comes of. */
export const perToolLimits: readonly (readonly [
  KeysOf<readonly (readonly [string, number])[] | undefined>,
  SessionMetric,
])[] = [
  ['maxCallsPerTool', 'calls_per_tool'],
  ['maxFailuresPerTool', 'failures_per_tool'],
  ['maxConsecutiveFailuresPerTool', 'consecutive_failures_per_tool'],
];
