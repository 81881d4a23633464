/** Rules that judge a call before it runs, each compiled to one function that never throws. */
import type { Awaitable } from '../../base/json.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { isPromiseLike } from '../../base/deadlines.ts';
import type { CallFacts } from './call-facts.ts';
import type { BeforeAnswer, CodeRule } from '../language/code-rule.ts';
import { compileExpression } from './compile-expression.ts';
import type { ComposedRule } from '../language/composed-rules.ts';
import { tidyMessage } from './fill-message.ts';
import type { CompileContext, FireRule } from './fire-rule.ts';
import { compileFire, onlyObserves } from './fire-rule.ts';
import type { FiredRule } from '../language/ruling.ts';
import type { PreRule, SandboxRule, SessionRule } from '../language/ruleset.ts';
import { compileSandbox } from '../sandbox/sandbox.ts';
import { compileSessionLimits } from '../language/session-limits.ts';

/** The fired rule, or undefined. */
export type BeforeRule = (facts: CallFacts) => Awaitable<FiredRule | undefined>;

type Indexed = { readonly tools: readonly string[] | undefined; readonly entry: BeforeRule };

/** Undefined for rules that judge results. Without `tools` the rule applies to every tool. */
export function compileBeforeRule(composed: ComposedRule, context: CompileContext): Indexed | undefined {
  const { rule } = composed;
  switch (rule.type) {
    case 'pre':
      return {
        tools: [rule.tool],
        entry: compilePre(rule, compileFire(composed, rule, context), context),
      };
    case 'sandbox':
      return {
        tools: rule.tools,
        entry: compileSandboxed(rule, compileFire(composed, rule, context)),
      };
    case 'session':
      return {
        tools: undefined,
        entry: compileSession(composed, rule, compileFire(composed, rule, context)),
      };
    case 'code':
      return rule.when === 'before'
        ? { tools: [rule.tool], entry: compileCode(composed, rule, context) }
        : undefined;
    case 'post':
      return undefined;
  }
}

function compilePre(rule: PreRule, fire: FireRule, context: CompileContext): BeforeRule {
  const { evaluate } = compileExpression(rule.when, context);
  return ({ call }) => {
    const truth = evaluate(call, undefined);
    return truth === false ? undefined : fire(call, undefined, truth === 'error');
  };
}

function compileSandboxed(rule: SandboxRule, fire: FireRule): BeforeRule {
  const isOutside = compileSandbox(rule);
  // The executor enforces paths and hosts. Which commands run is for the text alone to say.
  const isEnforced = rule.allowedCommands === undefined;
  return (facts) => {
    if (isEnforced && facts.call.confined === true) return undefined;
    try {
      return isOutside(() => facts.resources(), facts.world())
        ? fire(facts.call, undefined, false)
        : undefined;
    } catch {
      // A port of the host failed. A resource counts as outside unless it is shown to be inside.
      return fire(facts.call, undefined, true);
    }
  };
}

/** Never fires without counters: in that case the limits are reserved elsewhere. */
function compileSession(composed: ComposedRule, rule: SessionRule, fire: FireRule): BeforeRule {
  const { isUsedUp } = compileSessionLimits(rule, composed);
  return ({ call, counters }) =>
    counters !== undefined && isUsedUp(call.toolName, counters) ? fire(call, undefined, false) : undefined;
}

function compileCode(
  composed: ComposedRule,
  rule: CodeRule & { readonly when: 'before' },
  { redactor }: CompileContext,
): BeforeRule {
  const observed = onlyObserves(composed);
  const fire = (answer: NonNullable<BeforeAnswer>, mistake?: string): FiredRule => ({
    ruleId: composed.id,
    ruleType: 'code',
    action: answer.action,
    message: tidyMessage(answer.message, redactor),
    tags: rule.tags,
    metadata: rule.metadata,
    policyError: mistake !== undefined,
    observed,
    ...(mistake !== undefined && { mistake }),
    ...(answer.action === 'ask' && {
      timeoutSeconds: answer.timeoutSeconds ?? 300,
      timeoutEffect: answer.timeoutEffect ?? 'block',
    }),
  });
  const fail = (mistake: string): FiredRule =>
    fire({ action: 'block', message: `The rule ${composed.id} could not be applied.` }, mistake);
  const read = (answer: unknown): FiredRule | undefined => {
    if (answer === undefined) return undefined;
    const reading = readAnswer(answer);
    return reading === undefined
      ? fail('it returned a value that is not a valid rule answer.')
      : fire(reading);
  };
  return ({ call }) => {
    try {
      const answer: unknown = rule.check(call);
      if (!isPromiseLike(answer)) return read(answer);
      // A host may return any thenable. `Promise.resolve` turns it into a real promise.
      return Promise.resolve(answer)
        .then(read)
        .catch((cause: unknown) => fail(describeThrown(cause)));
    } catch (cause) {
      return fail(describeThrown(cause));
    }
  };
}

const isWholeSeconds = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;

/** A code rule may be plain JavaScript, so its answer is checked before use. */
function readAnswer(answer: unknown): BeforeAnswer {
  if (typeof answer !== 'object' || answer === null) return undefined;
  const { action, message, timeoutSeconds, timeoutEffect } = answer as Record<string, unknown>;
  if ((action !== 'block' && action !== 'ask') || typeof message !== 'string') return undefined;
  if (timeoutSeconds !== undefined && !isWholeSeconds(timeoutSeconds)) return undefined;
  if (timeoutEffect !== undefined && timeoutEffect !== 'block' && timeoutEffect !== 'allow') return undefined;
  return {
    action,
    message,
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    ...(timeoutEffect !== undefined && { timeoutEffect }),
  };
}
