/**
 * The counters of a session, for limits and conditions. `failures` and related counters follow the success check: a
 * call counts once, when it ends, if its body started.
 */
import type { EndMetric } from '../../call/event.ts';

export type SessionMetric =
  | 'tool_calls'
  | 'attempts'
  | 'calls_per_tool'
  | 'failures'
  | 'consecutive_failures'
  | 'failures_per_tool'
  | 'consecutive_failures_per_tool';

/** Usage of a session before the judged call. An absent field means zero. */
export type SessionCounters = {
  /** Calls whose body started. */
  readonly toolCalls: number;
  /** Calls that reached the policy, including denied ones. */
  readonly attempts: number;
  /** Calls of one tool, by its exact name, whose body started. */
  readonly callsOf: (toolName: string) => number;
  /** Calls whose body started and that did not succeed. */
  readonly failures?: number | undefined;
  /** The same since the session's last success. */
  readonly consecutiveFailures?: number | undefined;
  /** Failures of one tool, by its exact name. */
  readonly failuresOf?: ((toolName: string) => number) | undefined;
  /** Failures of one tool since its last success. */
  readonly consecutiveFailuresOf?: ((toolName: string) => number) | undefined;
};

type MetricFacts = {
  /** Does every tool have its own count? */
  readonly perTool: boolean;
  /** The effect of a call's end on it. Undefined for counters that change when a call begins. */
  readonly byEnd: EndMetric | undefined;
};

export const sessionMetrics: { readonly [Metric in SessionMetric]: MetricFacts } = {
  tool_calls: { perTool: false, byEnd: undefined },
  attempts: { perTool: false, byEnd: undefined },
  calls_per_tool: { perTool: true, byEnd: undefined },
  failures: { perTool: false, byEnd: 'failures' },
  consecutive_failures: { perTool: false, byEnd: 'consecutive_failures' },
  failures_per_tool: { perTool: true, byEnd: 'failures' },
  consecutive_failures_per_tool: { perTool: true, byEnd: 'consecutive_failures' },
};

/** The selectors of conditions: `session.failures` is under `failures`. */
export const countSelectors: ReadonlyMap<string, SessionMetric> = new Map([
  ['failures', 'failures'],
  ['consecutive_failures', 'consecutive_failures'],
  ['tool.failures', 'failures_per_tool'],
  ['tool.consecutive_failures', 'consecutive_failures_per_tool'],
]);

/** Name of the counter within its session. */
export const counterNameOf = (metric: SessionMetric, toolName: string): string =>
  sessionMetrics[metric].perTool ? `${metric}/${JSON.stringify(toolName)}` : metric;

export function countOfMetric(
  metric: SessionMetric,
  counters: SessionCounters | undefined,
  toolName: string,
): number {
  switch (metric) {
    case 'tool_calls':
      return counters?.toolCalls ?? 0;
    case 'attempts':
      return counters?.attempts ?? 0;
    case 'calls_per_tool':
      return counters?.callsOf(toolName) ?? 0;
    case 'failures':
      return counters?.failures ?? 0;
    case 'consecutive_failures':
      return counters?.consecutiveFailures ?? 0;
    case 'failures_per_tool':
      return counters?.failuresOf?.(toolName) ?? 0;
    case 'consecutive_failures_per_tool':
      return counters?.consecutiveFailuresOf?.(toolName) ?? 0;
  }
}

/** The session's counters for calls of one tool, from the value read for each. */
export const countersFrom = (read: (metric: SessionMetric) => number): SessionCounters => ({
  toolCalls: read('tool_calls'),
  attempts: read('attempts'),
  callsOf: () => read('calls_per_tool'),
  failures: read('failures'),
  consecutiveFailures: read('consecutive_failures'),
  failuresOf: () => read('failures_per_tool'),
  consecutiveFailuresOf: () => read('consecutive_failures_per_tool'),
});
