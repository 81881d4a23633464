import type { JsonValue } from '../../base/json.ts';
import { digestJson } from '../../base/canonical.ts';
import type { ComposedRule } from './composed-rules.ts';

/**
 * What a rule says, as a digest: equal for rules with equal bodies, whatever document they stand in. A rule of code is
 * known by its source text, which is all that can be seen of it.
 */
export function digestRule({ rule, mode, candidate }: ComposedRule): string {
  const body = rule.type === 'code' ? { ...rule, check: Function.prototype.toString.call(rule.check) } : rule;
  // Through its text, which leaves out what is undefined.
  return digestJson(JSON.parse(JSON.stringify({ body, mode, candidate })) as JsonValue);
}
