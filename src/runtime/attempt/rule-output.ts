/** What post rules make of what a body gave, before anybody is told of it or it is kept. */
import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Policy, ToolEnd } from '../../policy/judge/compile-policy.ts';
import type { OutputRuling } from '../../policy/language/ruling.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import { toMarks, toPolicyCall } from '../rules/contract-rules.ts';

export type RuledOutput =
  | { readonly type: 'pass'; readonly output: JsonValue }
  | { readonly type: 'block'; readonly message: string };

/** Judges a result or the text of an error. Warnings go to the model beside the content, everything to the record. */
export function ruleOutput(hand: CallInHand, policy: Policy, end: ToolEnd): Awaitable<RuledOutput> {
  return whenReady(policy.judgeOutput(toPolicyCall(hand), end), (ruling) => noteRuling(hand, ruling));
}

function noteRuling(hand: CallInHand, ruling: OutputRuling): RuledOutput {
  const marks = toMarks(hand, ruling);
  const news = marks.filter(
    ({ ruleId, message }) =>
      !hand.outputRules.some((known) => known.ruleId === ruleId && known.message === message),
  );
  if (news.length > 0) hand.outputRules = [...hand.outputRules, ...news];
  for (const { action, message, observed } of news)
    if (action === 'warn' && observed === undefined) hand.note(message);
  return ruling.decision === 'block' && ruling.decidedBy !== undefined
    ? { type: 'block', message: clean(hand, ruling.decidedBy.message) }
    : { type: 'pass', output: ruling.output };
}

export type FailureParts = {
  readonly error: string;
  readonly output: JsonValue | undefined;
  readonly extras: JsonObject;
};

/** The parts of a failure after the rules had their say; a text where one of them blocks. */
export async function ruleFailure(
  hand: CallInHand,
  policy: Policy,
  { error, output, extras }: FailureParts,
): Promise<FailureParts | string> {
  const text = await ruleOutput(hand, policy, { type: 'error', text: error });
  if (text.type === 'block') return text.message;
  const given = output === undefined ? undefined : await ruleValue(hand, policy, output);
  if (given?.type === 'block') return given.message;
  const rest = Object.keys(extras).length === 0 ? undefined : await ruleValue(hand, policy, extras);
  if (rest?.type === 'block') return rest.message;
  return {
    // A text stays one.
    error: typeof text.output === 'string' ? text.output : JSON.stringify(text.output),
    output: given?.output,
    extras: rest === undefined ? extras : isJsonObject(rest.output) ? rest.output : { redacted: rest.output },
  };
}

export const ruleValue = (hand: CallInHand, policy: Policy, value: JsonValue): Awaitable<RuledOutput> =>
  ruleOutput(hand, policy, { type: 'result', value });

/** What is kept of something no rule may let out. */
export const withheld = '[WITHHELD]';
