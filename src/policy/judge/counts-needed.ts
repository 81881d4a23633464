/** Finds the failure counters that conditions and messages read. Only these are kept. */
import type { ComposedRule } from '../language/composed-rules.ts';
import type { Expression, Selector } from '../language/expression.ts';
import { selectorsIn } from './fill-message.ts';
import type { PolicyWorld } from '../language/policy-call.ts';
import type { RuleIndex } from '../language/rule-index.ts';
import { createRuleIndex } from '../language/rule-index.ts';
import type { SessionMetric } from '../language/session-metric.ts';
import { countSelectors, sessionMetrics } from '../language/session-metric.ts';

/** A counter of the whole session is needed for every tool, whatever tool the rule applies to. */
export function compileCountsNeeded(
  rules: readonly ComposedRule[],
  world: PolicyWorld,
): RuleIndex<SessionMetric> {
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
      return [expression.selector];
    case 'not':
      return selectorsOf(expression.of);
    case 'all':
    case 'any':
      return expression.of.flatMap(selectorsOf);
  }
}
