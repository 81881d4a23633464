import type { Redactor } from '../../base/redaction.ts';
import type { ExpressionContext } from './compile-expression.ts';
import type { ComposedRule } from '../language/composed-rules.ts';
import type { FillMessage } from './fill-message.ts';
import { compileMessage } from './fill-message.ts';
import type { OutputView } from './output-view.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import type { FiredRule } from '../language/ruling.ts';
import type { AskTimeout, Rule } from '../language/ruleset.ts';

export type CompileContext = ExpressionContext & { readonly redactor: Redactor };

/** Creates the record of a fired rule, with its message filled in for this call. */
export type FireRule = (call: PolicyCall, output: OutputView | undefined, policyError: boolean) => FiredRule;

/** Does the rule only observe? */
export const onlyObserves = ({ mode, candidate }: Pick<ComposedRule, 'mode' | 'candidate'>): boolean =>
  candidate || mode === 'observe';

export function compileFire(composed: ComposedRule, rule: Rule, context: CompileContext): FireRule {
  const fill: FillMessage = compileMessage(rule.message, context.world, context.redactor);
  const action = rule.type === 'sandbox' ? rule.outside : rule.action;
  const observed = onlyObserves(composed);
  const timeout: Partial<AskTimeout> & Pick<FiredRule, 'approval'> =
    (rule.type === 'pre' || rule.type === 'sandbox') && action === 'ask'
      ? {
          timeoutSeconds: rule.timeoutSeconds,
          timeoutEffect: rule.timeoutEffect,
          ...(rule.approval !== undefined && { approval: rule.approval }),
        }
      : {};
  return (call, output, policyError) => ({
    ruleId: composed.id,
    ruleType: rule.type,
    action,
    message: fill(call, output),
    tags: rule.tags,
    metadata: rule.metadata,
    policyError,
    observed,
    ...timeout,
  });
}
