/**
 * What a body gave, judged: is it JSON, did it succeed, does it fit its schema, what of it may be kept, does it fit
 * inline. Ends in one outcome and the exact bytes the model is told.
 */
import { withoutAdvice } from '../../base/json-exotic.ts';
import { formatPath, freezeJson, toJson } from '../../base/json.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { attachedFilesToExtra } from '../../call/attached-files.ts';
import { isToolMadeResult } from '../../call/tool-result.ts';
import { formatIssues } from '../../tool/format-issues.ts';
import type { SuccessJudgement } from '../../tool/success-check.ts';
import { defaultSuccessCheck, isBareReason, runSuccessCheck } from '../../tool/success-check.ts';
import { isErrorLike } from '../../tool/describe-thrown.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AttemptEnd } from './attempt.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { classifyThrown } from './classify-thrown.ts';
import { repeatOf } from '../gates/doubt.ts';
import { judgeRecorded } from './judge-recorded.ts';
import { recordedEndOf } from './recorded-end.ts';
import type { AttemptFacts, Judgement } from './judgement.ts';
import { fail, keepFilesLeft, succeed } from './judgement.ts';
import { inputExtra } from '../input/input-extra.ts';
import { ruleBeside } from './rule-beside.ts';
import type { RuledOutput } from './rule-output.ts';
import { ruleValue } from './rule-output.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { ToolOutcome } from '../../call/outcome.ts';

export function judgeEnd(
  hand: CallInHand,
  end: AttemptEnd,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> {
  const recorded = recordedEndOf(facts.context);
  if (recorded === undefined) return judge(hand, end, facts);
  return judgeRecorded(
    hand,
    recorded,
    end,
    facts,
    (left, exact) => judge(hand, left, exact),
    (exact, retryable) => timedOut(hand, exact, retryable),
  );
}

function judge(hand: CallInHand, end: AttemptEnd, facts: AttemptFacts): Judgement | Promise<Judgement> {
  switch (end.type) {
    case 'returned':
      return judgeOutput(hand, end.value, facts);
    case 'threw':
      return judgeThrown(hand, end.error, facts);
    case 'timed_out':
      return timedOut(hand, facts, hand.knownTool.retryOnTimeout);
    case 'cancelled':
      return cancelled(hand, end.reason, facts);
  }
}

/** Stays synchronous while the checks do: most have nothing to wait for. */
function judgeOutput(hand: CallInHand, value: unknown, facts: AttemptFacts): Judgement | Promise<Judgement> {
  const { engine, knownTool: tool } = hand;
  const read = toJson(value);
  if (!read.ok)
    return unusable(
      hand,
      facts,
      `returned something JSON cannot hold at ${formatPath(read.path)}: ${withoutAdvice(read.problem)}`,
      undefined,
      read.problem,
    );
  const verdict = runSuccessCheck(tool.successCheck ?? engine.successCheck, tool.name, read.value);
  if (isPromiseLike(verdict)) return judgeSlowly(hand, value, read.value, facts);
  if (!verdict.ok) return reported(hand, value, read.value, verdict, facts);
  if (tool.output === undefined) return conclude(hand, read.value, isToolMadeResult(value), facts);
  return judgeSchema(hand, value, read.value, facts);
}

async function judgeSlowly(
  hand: CallInHand,
  value: unknown,
  json: JsonValue,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { engine, knownTool: tool } = hand;
  const verdict = await runSuccessCheck(tool.successCheck ?? engine.successCheck, tool.name, json);
  if (!verdict.ok) return reported(hand, value, json, verdict, facts);
  return judgeSchema(hand, value, json, facts);
}

async function judgeSchema(
  hand: CallInHand,
  value: unknown,
  json: JsonValue,
  facts: AttemptFacts,
): Promise<Judgement> {
  const schema = hand.knownTool.output;
  if (schema === undefined) return conclude(hand, json, isToolMadeResult(value), facts);
  const fit = await schema.check(value);
  if (!fit.ok)
    return unusable(
      hand,
      facts,
      `returned an output that does not fit its schema: ${formatIssues(fit.issues)}`,
      json,
    );
  const read = toJson(fit.value);
  if (!read.ok)
    return unusable(
      hand,
      facts,
      `has an output schema whose reading JSON cannot hold at ${formatPath(read.path)}: ${withoutAdvice(read.problem)}`,
      undefined,
      read.problem,
    );
  return conclude(hand, read.value, isToolMadeResult(value), facts);
}

/** The last word is that of the rules about results. */
function conclude(
  hand: CallInHand,
  output: JsonValue,
  toolMade: boolean,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> {
  const { policy } = hand;
  if (policy === undefined) return succeed(hand, output, toolMade, facts);
  const ruled = ruleValue(hand, policy, output);
  return isPromiseLike(ruled)
    ? Promise.resolve(ruled).then((answer) => concludeRuled(hand, output, answer, toolMade, facts))
    : concludeRuled(hand, output, ruled, toolMade, facts);
}

function concludeRuled(
  hand: CallInHand,
  given: JsonValue,
  ruled: RuledOutput,
  toolMade: boolean,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> {
  if (ruled.type === 'block')
    return fail(hand, { code: 'policy.output', error: ruled.message, retryable: false }, facts);
  // A result some of which is redacted may have lost what makes it one.
  return succeed(hand, ruled.output, toolMade && ruled.output === given, facts);
}

function unusable(
  hand: CallInHand,
  facts: AttemptFacts,
  problem: string,
  output?: JsonValue,
  /** For the developer. */
  advice?: string,
): Promise<Judgement> {
  if (advice !== undefined && advice !== withoutAdvice(advice))
    hand.aside(`What the tool returned: ${advice}.`);
  const error = `The tool "${hand.knownTool.name}" ${problem}.`;
  return fail(
    hand,
    { code: 'tool.invalid_output', error, retryable: false, ...(output === undefined ? {} : { output }) },
    facts,
  );
}

function reported(
  hand: CallInHand,
  value: unknown,
  output: JsonValue,
  { reason, retryable = true, mistake }: Extract<SuccessJudgement, { ok: false }>,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { engine, knownTool: tool } = hand;
  const isDefault = (tool.successCheck ?? engine.successCheck) === defaultSuccessCheck;
  if (mistake !== undefined) hand.aside(mistake);
  // What was recorded has been put in words before.
  const isRecorded = recordedEndOf(facts.context) !== undefined;
  return fail(
    hand,
    {
      code: 'tool.reported_error',
      error: reason,
      retryable,
      output,
      toolMade: isToolMadeResult(value),
      shows: isRecorded ? 'whole' : isDefault && !isBareReason(reason) ? 'message' : 'output',
    },
    facts,
  );
}

function judgeThrown(hand: CallInHand, thrown: unknown, facts: AttemptFacts): Promise<Judgement> {
  const aborted = hand.cancelled !== undefined && isAbort(thrown);
  if (aborted) return cancelled(hand, hand.cancelled ?? '', facts);
  const { message, ...classified } = classifyThrown(thrown);
  return fail(hand, { ...classified, error: message }, facts);
}

function isAbort(thrown: unknown): boolean {
  try {
    return isErrorLike(thrown) && (thrown as { name?: unknown }).name === 'AbortError';
  } catch {
    return false;
  }
}

/** A body that was told to stop may have done its work all the same; only a tool that may run again is surely harmless. */
function cancelled(hand: CallInHand, reason: string, facts: AttemptFacts): Promise<Judgement> {
  if (hand.knownTool.mayRerun)
    return fail(
      hand,
      { code: 'tool.cancelled', error: `The call was cancelled: ${reason}`, retryable: true },
      facts,
    );
  const error = `The call was cancelled while the tool was running (${reason}); nobody knows whether it took effect.`;
  return fail(hand, { code: 'tool.indeterminate', error, retryable: false }, facts);
}

/** What the body had recorded and attached by then is kept with it. */
async function timedOut(
  hand: CallInHand,
  { context, elapsedMs, deadlineMs }: AttemptFacts,
  retryable: boolean,
): Promise<Judgement> {
  const { knownTool: tool, request } = hand;
  const files = await keepFilesLeft(hand, context);
  const { partial } = context;
  const extras: JsonObject = {
    ...inputExtra(hand),
    ...(partial !== undefined && { partial: await ruleBeside(hand, partial) }),
    ...(files.length > 0 && { files: attachedFilesToExtra(files) }),
  };
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolTimeout',
    callId: request.id,
    toolName: tool.name,
    code: 'tool.timeout',
    deadlineMs,
    ...repeatOf(tool, { code: 'tool.timeout', retryable }),
    elapsedMs,
    ...(Object.keys(extras).length > 0 && { payloadExtras: freezeJson(extras) }),
    ...hand.modelNote(),
  });
  return { outcome, content: outcomeToModelContent(outcome), toolSuccess: false, authorSaysRetry: false };
}
