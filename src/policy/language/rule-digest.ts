import type { JsonValue } from '../../base/json.ts';
import { digestJson } from '../../base/canonical.ts';
import type { ComposedRule } from './composed-rules.ts';

/**
 * Digest of a rule: equal for rules with equal bodies, whatever document they are in. A code rule is identified by
 * its source text, which is all that can be seen of it.
 */
export function digestRule({ rule, mode, candidate }: ComposedRule): string {
  const body = rule.type === 'code' ? { ...rule, check: Function.prototype.toString.call(rule.check) } : rule;
  // Serialised first, which drops undefined fields.
  return digestJson(JSON.parse(JSON.stringify({ body, mode, candidate })) as JsonValue);
}
