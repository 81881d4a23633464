/**
 * What is about to be kept or told of a call, without what the redactor hides and without what was hidden in its
 * input, wherever a tool, a rule or a person echoed it.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Redactor } from '../base/redaction.ts';
import type { ParsedToolCall } from '../call/tool-call.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { CallerFacts } from './caller-facts.ts';
import { collectHidden, longestFirst, scrubJson, scrubText } from './hidden-values.ts';
import type { KeptInput } from './kept-input.ts';
import type { PreparedInput } from './prepared-input.ts';
import type { Snapshot } from './snapshot.ts';

/** As much of a call in hand as tells what has to be hidden. */
export type CallWithSecrets = {
  readonly engine: { readonly redactor: Redactor };
  readonly tool: AnyTool | undefined;
  readonly request: ParsedToolCall;
  readonly requested: KeptInput;
  readonly prepared: PreparedInput | undefined;
  readonly snapshot: Snapshot | undefined;
  readonly facts: CallerFacts;
  /** What is hidden in the input: found once for every form of it. */
  hiddenInInput: { readonly of: KeptInput; readonly values: readonly string[] } | undefined;
};

export const clean = (call: CallWithSecrets, text: string): string =>
  scrubText(call.engine.redactor.text(text), hiddenValues(call));

export function cleanObject(call: CallWithSecrets, value: JsonObject): JsonObject {
  const { value: kept } = call.engine.redactor.input(value);
  return scrubJson(kept, hiddenValues(call)) as JsonObject; // neither makes an object anything else
}

export function cleanOutput(call: CallWithSecrets, output: JsonValue): JsonValue {
  const { value: kept } = call.engine.redactor.output(output, call.tool?.redact?.output);
  return scrubJson(kept, hiddenValues(call));
}

/** What a workflow was shown, without what is hidden. Its keys are names of stages and tools, not of secrets. */
export function cleanState(call: CallWithSecrets, state: JsonObject): JsonObject {
  const { value: kept } = call.engine.redactor.output(state);
  return scrubJson(kept, hiddenValues(call)) as JsonObject; // neither makes an object anything else
}

/** Of the input as it came, as it was mended, of the snapshot, and of what the caller said beside it. */
export function hiddenValues(call: CallWithSecrets): readonly string[] {
  const more = call.snapshot?.hiddenValues;
  const ofInput = hiddenInInput(call);
  return more === undefined || more.length === 0 ? ofInput : longestFirst([...ofInput, ...more]);
}

function hiddenInInput(call: CallWithSecrets): readonly string[] {
  const { request, requested, prepared, facts } = call;
  const effective = prepared?.effective ?? requested;
  if (requested.hidden.length === 0 && effective.hidden.length === 0) return facts.hidden;
  if (call.hiddenInInput?.of === effective) return call.hiddenInInput.values;
  const { input } = request;
  const values = longestFirst([
    ...facts.hidden,
    ...collectHidden(input.ok ? input.arguments : input.raw, requested.kept),
    ...(prepared === undefined ? [] : collectHidden(prepared.effectiveInput, prepared.effective.kept)),
  ]);
  call.hiddenInInput = { of: effective, values };
  return values;
}
