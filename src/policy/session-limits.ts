/**
 * The limits of session rules, as shares of counters. What is counted belongs to the session and not to a rule: two
 * rules about `max_tool_calls` look at one number, and a document that is loaded anew goes on where it was. A limit of
 * N lets N through: it bites when N were counted before.
 */
import type { JsonObject } from '../base/json.ts';
import { createRuleIndex } from './rule-index.ts';
import type { RuleMode, SessionRule } from './ruleset.ts';

export type LimitMetric = 'tool_calls' | 'attempts' | 'calls_per_tool';

/** What one rule allows of one counter. */
export type LimitShare = {
  readonly ruleId: string;
  readonly metric: LimitMetric;
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

/** How much a session has used, before the call that is judged. */
export type SessionCounters = {
  /** Calls whose body started. */
  readonly toolCalls: number;
  /** Calls that reached the policy, denied ones too. */
  readonly attempts: number;
  /** Calls of one tool, by its exact name, whose body started. */
  readonly callsOf: (toolName: string) => number;
};

/** A rule's limits, made ready. */
export type CompiledLimits = {
  /** What they hold for a call of this tool. */
  readonly sharesOf: (toolName: string) => readonly LimitShare[];
  /** Whether one of them is used up. */
  readonly isUsedUp: (toolName: string, counters: SessionCounters) => boolean;
};

/**
 * In `max_calls_per_tool` a pattern gives each tool it matches that many calls of its own: that is what "per tool"
 * says. Where several entries match a tool, all of them hold.
 */
export function compileLimits(
  { limits, message, tags, metadata }: SessionRule,
  { id, mode, candidate }: { readonly id: string; readonly mode: RuleMode; readonly candidate: boolean },
): CompiledLimits {
  const { maxToolCalls = Number.POSITIVE_INFINITY, maxAttempts = Number.POSITIVE_INFINITY } = limits;
  const perTool = createRuleIndex(
    limits.maxCallsPerTool.map(([tool, limit]) => ({ tools: [tool], entry: limit })),
  );
  const share = (metric: LimitMetric, counter: string, limit: number): LimitShare => ({
    ruleId: id,
    metric,
    counter,
    limit,
    message,
    tags,
    metadata,
    mode,
    candidate,
  });
  return {
    sharesOf: (toolName) => [
      ...(Number.isFinite(maxToolCalls) ? [share('tool_calls', 'tool_calls', maxToolCalls)] : []),
      ...(Number.isFinite(maxAttempts) ? [share('attempts', 'attempts', maxAttempts)] : []),
      ...perTool(toolName).map((limit) =>
        share('calls_per_tool', `calls_per_tool/${JSON.stringify(toolName)}`, limit),
      ),
    ],
    isUsedUp: (toolName, { toolCalls, attempts, callsOf }) =>
      toolCalls >= maxToolCalls ||
      attempts >= maxAttempts ||
      perTool(toolName).some((limit) => callsOf(toolName) >= limit),
  };
}
