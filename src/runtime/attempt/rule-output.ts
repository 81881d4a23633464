/** Applies post rules to the result of a body before it is stored or returned. */
import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Policy, ToolEnd } from '../../policy/judge/compile-policy.ts';
import type { OutputRuling } from '../../policy/language/ruling.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import type { AttemptRemarks } from './attempt-remarks.ts';
import { clean } from '../input/clean.ts';
import { toMarks, toPolicyCall } from '../rules/contract-rules.ts';

export type RuledOutput =
  | { readonly type: 'pass'; readonly output: JsonValue }
  | { readonly type: 'block'; readonly message: string };

/**
 * Judges a result or the text of an error. Warnings become notes for the model, and every ruling goes on
 * record.
 */
export function ruleOutput(
  live: ReadyCall,
  policy: Policy,
  end: ToolEnd,
  remarks: AttemptRemarks,
): Awaitable<RuledOutput> {
  return whenReady(policy.judgeOutput(toPolicyCall(live), end), (ruling) =>
    noteRuling(live, ruling, remarks),
  );
}

function noteRuling(live: ReadyCall, ruling: OutputRuling, remarks: AttemptRemarks): RuledOutput {
  const marks = toMarks(live, ruling);
  const added = marks.filter(
    ({ ruleId, message }) =>
      !remarks.rules.some((known) => known.ruleId === ruleId && known.message === message),
  );
  if (added.length > 0) remarks.rules = [...remarks.rules, ...added];
  for (const { action, message, observed } of added)
    if (action === 'warn' && observed === undefined) remarks.note(message);
  return ruling.decision === 'block' && ruling.decidedBy !== undefined
    ? { type: 'block', message: clean(live, ruling.decidedBy.message) }
    : { type: 'pass', output: ruling.output };
}

export type FailureParts = {
  readonly error: string;
  readonly output: JsonValue | undefined;
  readonly extras: JsonObject;
};

export type RuledFailure =
  | ({ readonly type: 'pass' } & FailureParts)
  | { readonly type: 'block'; readonly message: string };

/** The parts of a failure after the rules have judged them. */
export async function ruleFailure(
  live: ReadyCall,
  policy: Policy,
  { error, output, extras }: FailureParts,
  remarks: AttemptRemarks,
): Promise<RuledFailure> {
  const text = await ruleOutput(live, policy, { type: 'error', text: error }, remarks);
  if (text.type === 'block') return text;
  const given = output === undefined ? undefined : await ruleValue(live, policy, output, remarks);
  if (given?.type === 'block') return given;
  const rest = Object.keys(extras).length === 0 ? undefined : await ruleValue(live, policy, extras, remarks);
  if (rest?.type === 'block') return rest;
  return {
    type: 'pass',
    // A text stays a text.
    error: typeof text.output === 'string' ? text.output : JSON.stringify(text.output),
    output: given?.output,
    extras: rest === undefined ? extras : isJsonObject(rest.output) ? rest.output : { redacted: rest.output },
  };
}

export const ruleValue = (
  live: ReadyCall,
  policy: Policy,
  value: JsonValue,
  remarks: AttemptRemarks,
): Awaitable<RuledOutput> => ruleOutput(live, policy, { type: 'result', value }, remarks);

/** Replaces a value that a rule blocks. */
export const withheld = '[WITHHELD]';
