/** Rules that judge the result of a call, each compiled to one function that never throws. */
import type { Awaitable, JsonValue, JsonObject } from '../../base/json.ts';
import { toJson, defineMember } from '../../base/json.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { isPromiseLike } from '../../base/deadlines.ts';
import type { AfterAnswer, CodeRule } from '../language/code-rule.ts';
import { compileExpression } from './compile-expression.ts';
import type { ComposedRule } from '../language/composed-rules.ts';
import { tidyMessage } from './fill-message.ts';
import type { CompileContext } from './fire-rule.ts';
import { compileFire, onlyObserves } from './fire-rule.ts';
import type { OutputView, ToolEnd } from './output-view.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import type { PostRule } from '../language/ruleset.ts';
import type { FiredRule } from '../language/ruling.ts';
import { redacted } from '../../base/secret-pattern.ts';
import type { TextSpan } from '../regex/text-span.ts';
import { editJson } from '../../tool/json-edit.ts';
import type { CompiledLeaf } from './compile-expression.ts';
import type { Test } from './operators.ts';
import { toJsonText, plainJsonText, viewOutput } from './output-view.ts';
import { inSomeSpan, maskSpans, mergeSpans } from '../regex/text-span.ts';

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

/**
 * Copies JSON with some of it hidden. Untouched parts are shared, and a value with nothing hidden is returned itself.
 */

/** Decides about each value and each key, in the order in which JSON writes them. */
type Visit = {
  readonly scalar: (value: string | number | boolean | null) => JsonValue;
  readonly key: (key: string) => string;
  /** Called for the punctuation in between. */
  readonly punctuation: (length: number) => void;
};

const ignore = (): void => undefined;

/** Calls `mask` for every text, including keys. */
const maskJsonTexts = (value: JsonValue, mask: (text: string) => string): JsonValue =>
  walk(value, {
    scalar: (scalar) => (typeof scalar === 'string' ? mask(scalar) : scalar),
    key: mask,
    punctuation: ignore,
  });

/**
 * Hides every value and key that one of the spans touches. The spans are merged and count from the start of the
 * value's JSON. Strings in that JSON are either escaped or plain. Quotes belong to no value.
 */
function maskTouched(value: JsonValue, spans: readonly TextSpan[], spelling: 'escaped' | 'plain'): JsonValue {
  if (spans.length === 0) return value;
  let at = 0;
  let next = 0;
  const isTouched = (start: number, end: number): boolean => {
    while (next < spans.length && (spans[next] as TextSpan)[1] <= start) next++;
    const span = spans[next];
    return span !== undefined && span[0] < end;
  };
  const pass = (length: number, quote: 0 | 1): boolean => {
    const start = at;
    at += length;
    return isTouched(start + quote, at - quote);
  };
  const passText = (text: string): boolean =>
    pass(spelling === 'plain' ? text.length + 2 : JSON.stringify(text).length, 1);
  return walk(value, {
    scalar: (scalar) => {
      const touched = typeof scalar === 'string' ? passText(scalar) : pass(String(scalar).length, 0);
      return touched ? redacted : scalar;
    },
    key: (key) => (passText(key) ? redacted : key),
    punctuation: (length) => {
      at += length;
    },
  });
}

function walk(value: JsonValue, visit: Visit): JsonValue {
  if (typeof value !== 'object' || value === null) return visit.scalar(value);
  // `isArray` does not narrow a union with a read-only list.
  return Array.isArray(value)
    ? walkItems(value as readonly JsonValue[], visit)
    : walkMembers(value as JsonObject, visit);
}

function walkItems(items: readonly JsonValue[], visit: Visit): JsonValue {
  visit.punctuation(1);
  const copy = items.map((item, index) => {
    if (index > 0) visit.punctuation(1);
    return walk(item, visit);
  });
  visit.punctuation(1);
  return copy.every((item, index) => item === items[index]) ? items : copy;
}

function walkMembers(members: JsonObject, visit: Visit): JsonValue {
  const copy: { [key: string]: JsonValue } = {};
  const pickKey = createKeyPicker(members);
  let isSame = true;
  let isFirst = true;
  visit.punctuation(1);
  for (const [key, member] of Object.entries(members)) {
    if (!isFirst) visit.punctuation(1);
    isFirst = false;
    const shown = visit.key(key);
    visit.punctuation(1);
    const kept = walk(member, visit);
    isSame &&= shown === key && kept === member;
    defineMember(copy, shown === key ? key : pickKey(shown), kept);
  }
  visit.punctuation(1);
  return isSame ? members : copy;
}

/** Keys that become equal get a number each, so that no member is lost. */
function createKeyPicker(members: JsonObject): (shown: string) => string {
  const counts = new Map<string, number>();
  const taken = new Set<string>();
  return (shown) => {
    let picked = shown;
    let count = counts.get(shown) ?? 1;
    while (taken.has(picked) || Object.hasOwn(members, picked)) picked = `${shown} ${++count}`;
    counts.set(shown, count);
    taken.add(picked);
    return picked;
  };
}

/**
 * Redacts the matches of a rule from an output.
 *
 * 1. Text operators hide what they matched; other operators hide the whole value.
 * 2. `output.text` is searched in every text at any depth, including keys. Then the JSON is searched as a whole: a
 *    match that covers several values hides each value it touches.
 * 3. If no match can be located, the whole output is hidden. Hiding too much is better than too little.
 */

type Locate = NonNullable<Test['locate']>;

/**
 * The output without the matches of the leaves. Each leaf is evaluated again, because one that was not reached may
 * match too.
 */
function redactMatches(
  end: ToolEnd,
  view: OutputView,
  leaves: readonly CompiledLeaf[],
  call: PolicyCall,
): ToolEnd {
  let at = end;
  let seen = view;
  let hasFound = false;
  for (const leaf of leaves) {
    const next = redactLeaf(at, seen, leaf, call);
    if (next === undefined) continue;
    hasFound = true;
    at = next;
    seen = viewOutput(at);
  }
  return hasFound ? at : hideAll(end);
}

const hideAll = (end: ToolEnd): ToolEnd =>
  end.type === 'result' ? { type: 'result', value: redacted } : { type: 'error', text: redacted };

/** Undefined if the leaf is about something else, or does not hold. */
function redactLeaf(
  end: ToolEnd,
  view: OutputView,
  { leaf, evaluate, select, testFor }: CompiledLeaf,
  call: PolicyCall,
): ToolEnd | undefined {
  const { source, path } = leaf.selector;
  if (source !== 'output.text' && source !== 'result') return undefined;
  const truth = evaluate(call, view);
  const value = truth === false ? undefined : select(call, view);
  if (value === undefined) return undefined;
  // Of a list, one item or all of them matched: the whole value is hidden.
  const locate = truth === 'error' || leaf.items !== undefined ? undefined : testFor(call, view)?.locate;
  if (source === 'output.text') {
    if (locate === undefined) return hideAll(end);
    return end.type === 'error'
      ? { type: 'error', text: redactText(end.text, locate) }
      : { type: 'result', value: redactValue(end.value, locate) };
  }
  // Only a result has values below it.
  if (end.type === 'error') return undefined;
  const hidden = locate === undefined || typeof value !== 'string' ? redacted : redactText(value, locate);
  return { type: 'result', value: path.length === 0 ? hidden : replaceAt(end.value, path, hidden) };
}

/** An empty match, as of `x*`, cannot be located. */
function redactText(text: string, locate: Locate): string {
  const spans = mergeSpans(locate.find(text));
  return spans.length === 0 ? redacted : maskSpans(text, spans);
}

function redactValue(value: JsonValue, locate: Locate): JsonValue {
  if (typeof value === 'string') return redactText(value, locate);
  let kept: JsonValue = value as JsonValue;
  if (locate.inParts)
    kept = maskJsonTexts(kept, (text) => {
      const spans = mergeSpans(locate.find(text));
      return spans.length === 0 ? text : maskSpans(text, spans);
    });
  kept = maskTouched(kept, findOutside(toJsonText(kept), locate), 'escaped');
  kept = maskTouched(kept, findOutside(plainJsonText(kept), locate), 'plain');
  return kept === value ? redacted : kept;
}

/** Matches outside existing redaction marks. */
function findOutside(text: string, locate: Locate): readonly TextSpan[] {
  const spans = mergeSpans(locate.find(text));
  if (spans.length === 0) return spans;
  const masks: TextSpan[] = [];
  for (let at = text.indexOf(redacted); at >= 0; at = text.indexOf(redacted, at + redacted.length))
    masks.push([at, at + redacted.length]);
  return spans.filter((span) => !inSomeSpan(span, masks));
}

function replaceAt(root: JsonValue, path: readonly string[], value: JsonValue): JsonValue {
  // A value was found below it, so it is an object or a list; lists have keys as objects do.
  return editJson(root as JsonObject, [{ path, value }]);
}
