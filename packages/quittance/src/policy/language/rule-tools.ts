import type { CodeRule } from './code-rule.ts';
import type { Rule } from './ruleset.ts';
import { perToolLimits } from './session-limits.ts';

/** The names and patterns of the tools that a rule applies to. */
export function toolsOfRule(rule: Rule | CodeRule): readonly string[] {
  switch (rule.type) {
    case 'pre':
    case 'post':
    case 'code':
      return [rule.tool];
    case 'sandbox':
      return rule.tools;
    case 'session':
      return perToolLimits.flatMap(([key]) => (rule.limits[key] ?? []).map(([tool]) => tool));
  }
}
