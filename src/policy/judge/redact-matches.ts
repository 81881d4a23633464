/**
 * Redacts the matches of a rule from an output.
 *
 * 1. Text operators hide what they matched; other operators hide the whole value.
 * 2. `output.text` is searched in every text at any depth, including keys. Then the JSON is searched as a whole: a
 *    match that covers several values hides each value it touches.
 * 3. If no match can be located, the whole output is hidden. Hiding too much is better than too little.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { redacted } from '../../base/text-mask.ts';
import { editJson } from '../../tool/json-edit.ts';
import type { CompiledLeaf } from './compile-expression.ts';
import type { TextSpan } from '../regex/text-span.ts';
import type { Test } from './operators.ts';
import type { OutputView, ToolEnd } from './output-view.ts';
import { toJsonText, plainJsonText, viewOutput } from './output-view.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import { inSomeSpan, maskSpans, mergeSpans } from '../regex/text-span.ts';
import { maskJsonTexts, maskTouched } from './mask-json.ts';

type Locate = NonNullable<Test['locate']>;

/**
 * The output without the matches of the leaves. Each leaf is evaluated again, because one that was not reached may
 * match too.
 */
export function redactMatches(
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
  { leaf, evaluate, select, test }: CompiledLeaf,
  call: PolicyCall,
): ToolEnd | undefined {
  const { source, path } = leaf.selector;
  if (source !== 'output.text' && source !== 'result') return undefined;
  const truth = evaluate(call, view);
  const value = truth === false ? undefined : select(call, view);
  if (value === undefined) return undefined;
  const locate = truth === 'error' ? undefined : test.locate;
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
