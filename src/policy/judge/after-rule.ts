/** Rules that judge the result of a call, each compiled to one function that never throws. */
import type { Awaitable, JsonValue } from '../../base/json.ts';
import { toJson } from '../../base/json.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AfterAnswer, CodeRule } from '../language/code-rule.ts';
import { compileExpression } from './compile-expression.ts';
import type { ComposedRule } from '../language/composed-rules.ts';
import { tidyMessage } from './fill-message.ts';
import type { CompileContext } from './fire-rule.ts';
import { compileFire, onlyObserves } from './fire-rule.ts';
import type { OutputView, ToolEnd } from './output-view.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import { redactMatches } from './redact-matches.ts';
import type { PostRule } from '../language/ruleset.ts';
import type { FiredRule } from '../language/ruling.ts';

/** Reports that a rule fired, and the output it leaves. */
export type AfterVerdict = {
  /** Fills in the rule's message, after all rules have been asked. */
  readonly fire: (call: PolicyCall, output: OutputView) => FiredRule;
  readonly observed: boolean;
  /** Undefined if the rule removes nothing. */
  readonly end: ToolEnd | undefined;
};

export type AfterRule = (
  call: PolicyCall,
  end: ToolEnd,
  view: OutputView,
) => Awaitable<AfterVerdict | undefined>;

type Indexed = { readonly tools: readonly string[]; readonly entry: AfterRule };

/** Undefined for rules that judge calls before they run. */
export function compileAfterRule(composed: ComposedRule, context: CompileContext): Indexed | undefined {
  const { rule } = composed;
  if (rule.type === 'post') return { tools: [rule.tool], entry: compilePost(composed, rule, context) };
  if (rule.type === 'code' && rule.when === 'after')
    return { tools: [rule.tool], entry: compileCode(composed, rule, context) };
  return undefined;
}

function compilePost(composed: ComposedRule, rule: PostRule, context: CompileContext): AfterRule {
  const { evaluate, leaves } = compileExpression(rule.when, context);
  const fire = compileFire(composed, rule, context);
  const observed = onlyObserves(composed);
  return (call, end, view) => {
    const truth = evaluate(call, view);
    if (truth === false) return undefined;
    return {
      fire: (ofCall, output) => fire(ofCall, output, truth === 'error'),
      observed,
      end: rule.action === 'redact' ? redactMatches(end, view, leaves, call) : undefined,
    };
  };
}

function compileCode(
  composed: ComposedRule,
  rule: CodeRule & { readonly when: 'after' },
  { redactor }: CompileContext,
): AfterRule {
  const observed = onlyObserves(composed);
  const say = (
    action: FiredRule['action'],
    message: string,
    end?: ToolEnd,
    mistake?: string,
  ): AfterVerdict => ({
    fire: () => ({
      ruleId: composed.id,
      ruleType: 'code',
      action,
      message: tidyMessage(message, redactor),
      tags: rule.tags,
      metadata: rule.metadata,
      policyError: mistake !== undefined,
      observed,
      ...(mistake !== undefined && { mistake }),
    }),
    observed,
    end,
  });
  const fail = (mistake: string): AfterVerdict =>
    say('block', `The rule ${composed.id} could not be applied.`, undefined, mistake);
  const read = (answer: unknown, end: ToolEnd): AfterVerdict | undefined => {
    if (answer === undefined) return undefined;
    const reading = readAnswer(answer);
    if (reading === undefined) return fail('it returned a value that is not a valid rule answer.');
    return reading.action === 'redact'
      ? say('redact', reading.message, replaceEnd(end, reading.output))
      : say(reading.action, reading.message);
  };
  return (call, end) => {
    try {
      const answer: unknown = rule.check(call, end.type === 'result' ? end.value : end.text);
      if (!isPromiseLike(answer)) return read(answer, end);
      return Promise.resolve(answer)
        .then((later) => read(later, end))
        .catch((cause: unknown) => fail(describeThrown(cause)));
    } catch (cause) {
      return fail(describeThrown(cause));
    }
  };
}

/** The replacement for an error stays a text. */
function replaceEnd(end: ToolEnd, output: JsonValue): ToolEnd {
  if (end.type === 'result') return { type: 'result', value: output };
  return { type: 'error', text: typeof output === 'string' ? output : JSON.stringify(output) };
}

/** A code rule may be plain JavaScript, so its answer is checked before use. */
function readAnswer(answer: unknown): AfterAnswer {
  if (typeof answer !== 'object' || answer === null) return undefined;
  const { action, message, output } = answer as Record<string, unknown>;
  if (typeof message !== 'string') return undefined;
  if (action === 'warn' || action === 'block') return { action, message };
  if (action !== 'redact' || output === undefined) return undefined;
  const reading = toJson(output);
  return reading.ok ? { action, message, output: reading.value } : undefined;
}
