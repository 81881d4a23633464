import type { CodeRule } from './code-rule.ts';
import type { Rule } from './ruleset.ts';
import { perToolLimits } from './session-limits.ts';

/** The names and patterns by which a rule says which tools it is about. */
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
