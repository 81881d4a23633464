/** Judges the result of a body. The result is one outcome and the exact content for the model. */
import { withoutAdvice } from '../../base/json-exotic.ts';
import { copyJson, JsonCopying } from '../../base/json-copy.ts';
import { formatPath, freezeJson, toJson } from '../../base/json.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { attachedFilesToExtra } from '../../call/attached-files.ts';
import { isTerminalResult, isToolMadeResult } from '../../call/tool-result.ts';
import { formatIssues } from '../../tool/format-issues.ts';
import type { SuccessJudgement } from '../../tool/success-check.ts';
import { defaultSuccessCheck, isBareReason, runSuccessCheck } from '../../tool/success-check.ts';
import { isErrorLike } from '../../tool/describe-thrown.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AttemptEnd } from './attempt.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { modelNote } from '../state/call-stages.ts';
import { aside } from '../state/aside.ts';
import { classifyThrown } from './classify-thrown.ts';
import { repeatOf } from '../gates/doubt.ts';
import { judgeRecorded } from './judge-recorded.ts';
import type { RecordedEnd } from './recorded-end.ts';
import { recordedEndOf } from './recorded-end.ts';
import type { AttemptFacts, Judgement } from './judgement.ts';
import { fail, keepFilesLeft, notChecked, succeed } from './judgement.ts';
import { inputExtra } from '../input/input-extra.ts';
import { redactSideOutput } from './redact-side-output.ts';
import type { RuledOutput } from './rule-output.ts';
import { ruleValue } from './rule-output.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { ToolOutcome } from '../../call/outcome.ts';

export function judgeEnd(
  live: ReadyCall,
  end: AttemptEnd,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> {
  const recorded = recordedEndOf(facts.context);
  return recorded === undefined ? judge(live, end, facts) : judgeAgain(live, recorded, end, facts);
}

const judgeAgain = (
  live: ReadyCall,
  recorded: RecordedEnd,
  end: AttemptEnd,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> =>
  judgeRecorded(
    live,
    recorded,
    end,
    facts,
    (left, exact) => judge(live, left, exact),
    (exact, retryable) => timedOut(live, exact, retryable),
  );

function judge(live: ReadyCall, end: AttemptEnd, facts: AttemptFacts): Judgement | Promise<Judgement> {
  switch (end.type) {
    case 'returned':
      return judgeOutput(live, end.value, facts);
    case 'threw':
      return judgeThrown(live, end.error, facts);
    case 'timed_out':
      return timedOut(live, facts, live.tool.retryOnTimeout);
    case 'cancelled':
      return cancelled(live, end.reason, facts);
  }
}

/** Stays synchronous while the checks do: most have nothing to wait for. */
function judgeOutput(live: ReadyCall, value: unknown, facts: AttemptFacts): Judgement | Promise<Judgement> {
  const { engine, tool } = live;
  const copied = copyJson(value, false);
  if (copied instanceof JsonCopying) return unreadable(live, copied, facts);
  const json = copied ?? null;
  const verdict = runSuccessCheck(tool.successCheck ?? engine.successCheck, tool.name, json);
  if (isPromiseLike(verdict)) return judgeSlowly(live, value, json, facts);
  if (!verdict.ok) return reported(live, value, json, verdict, facts);
  if (tool.output === undefined) return conclude(live, json, isToolMadeResult(value), facts);
  return judgeSchema(live, value, json, facts);
}

function unreadable(live: ReadyCall, copied: JsonCopying, facts: AttemptFacts): Promise<Judgement> {
  const { path = [], problem = '' } = copied;
  const where = formatPath(path.reverse());
  return unusable(
    live,
    facts,
    `returned something JSON cannot hold at ${where}: ${withoutAdvice(problem)}`,
    undefined,
    problem,
  );
}

async function judgeSlowly(
  live: ReadyCall,
  value: unknown,
  json: JsonValue,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { engine, tool } = live;
  const verdict = await runSuccessCheck(tool.successCheck ?? engine.successCheck, tool.name, json);
  if (!verdict.ok) return reported(live, value, json, verdict, facts);
  return judgeSchema(live, value, json, facts);
}

async function judgeSchema(
  live: ReadyCall,
  value: unknown,
  json: JsonValue,
  facts: AttemptFacts,
): Promise<Judgement> {
  const schema = live.tool.output;
  if (schema === undefined) return conclude(live, json, isToolMadeResult(value), facts);
  const fit = await schema.check(value);
  if (!fit.ok && fit.mistake !== undefined) return unchecked(live, facts, fit.mistake, json);
  if (!fit.ok)
    return unusable(
      live,
      facts,
      `returned an output that does not fit its schema: ${formatIssues(fit.issues)}`,
      json,
    );
  const read = toJson(fit.value);
  if (!read.ok)
    return unusable(
      live,
      facts,
      `has an output schema whose reading JSON cannot hold at ${formatPath(read.path)}: ${withoutAdvice(read.problem)}`,
      undefined,
      read.problem,
    );
  return conclude(live, read.value, isToolMadeResult(value), facts);
}

/** The rules on results have the last word. */
function conclude(
  live: ReadyCall,
  output: JsonValue,
  toolMade: boolean,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> {
  const { policy } = live;
  if (policy === undefined) return succeed(live, output, toolMade, facts);
  const ruled = ruleValue(live, policy, output, facts.remarks);
  return isPromiseLike(ruled)
    ? Promise.resolve(ruled).then((answer) => concludeRuled(live, output, answer, toolMade, facts))
    : concludeRuled(live, output, ruled, toolMade, facts);
}

function concludeRuled(
  live: ReadyCall,
  given: JsonValue,
  ruled: RuledOutput,
  toolMade: boolean,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> {
  if (ruled.type === 'block')
    return fail(live, { code: 'policy.output', error: ruled.message, retryable: false }, facts);
  // A redacted result may no longer be a valid `ToolResult`.
  return succeed(live, ruled.output, toolMade && ruled.output === given, facts);
}

function unusable(
  live: ReadyCall,
  facts: AttemptFacts,
  problem: string,
  output?: JsonValue,
  /** For the developer. */
  advice?: string,
): Promise<Judgement> {
  if (advice !== undefined && advice !== withoutAdvice(advice))
    aside(live, `What the tool returned: ${advice}.`);
  const error = `The tool "${live.tool.name}" ${problem}.`;
  return fail(
    live,
    { code: 'tool.invalid_output', error, retryable: false, ...(output === undefined ? {} : { output }) },
    facts,
  );
}

/** The body has returned, and a check of its result failed. The model learns nothing else. */
function unchecked(
  live: ReadyCall,
  facts: AttemptFacts,
  mistake: string,
  output: JsonValue,
): Promise<Judgement> {
  aside(live, mistake);
  return fail(live, { ...notChecked(live), output, shows: 'output' }, facts);
}

function reported(
  live: ReadyCall,
  value: unknown,
  output: JsonValue,
  { reason, retryable = true, mistake }: Extract<SuccessJudgement, { ok: false }>,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { engine, tool } = live;
  if (mistake !== undefined) return unchecked(live, facts, mistake, output);
  const isDefault = (tool.successCheck ?? engine.successCheck) === defaultSuccessCheck;
  // A recorded error is already a complete text.
  const isRecorded = recordedEndOf(facts.context) !== undefined;
  return fail(
    live,
    {
      code: 'tool.reported_error',
      error: reason,
      // The next call of the turn is denied.
      retryable: retryable && !(isToolMadeResult(value) && isTerminalResult(value)),
      output,
      toolMade: isToolMadeResult(value),
      shows: isRecorded ? 'whole' : isDefault && !isBareReason(reason) ? 'message' : 'output',
    },
    facts,
  );
}

function judgeThrown(live: ReadyCall, thrown: unknown, facts: AttemptFacts): Promise<Judgement> {
  const aborted = live.signals.cancelled !== undefined && isAbort(thrown);
  if (aborted) return cancelled(live, live.signals.cancelled ?? '', facts);
  const { message, ...classified } = classifyThrown(thrown);
  return fail(live, { ...classified, error: message }, facts);
}

function isAbort(thrown: unknown): boolean {
  try {
    return isErrorLike(thrown) && (thrown as { name?: unknown }).name === 'AbortError';
  } catch {
    return false;
  }
}

/** A cancelled body may have done its work. Only a tool that may run again is certainly harmless. */
function cancelled(live: ReadyCall, reason: string, facts: AttemptFacts): Promise<Judgement> {
  if (live.tool.mayRerun)
    return fail(
      live,
      { code: 'tool.cancelled', error: `The call was cancelled: ${reason}`, retryable: true },
      facts,
    );
  const error = `The call was cancelled while the tool was running (${reason}). It may have taken effect.`;
  return fail(live, { code: 'tool.indeterminate', error, retryable: false }, facts);
}

/** Stores what the body had logged and attached by then. */
async function timedOut(
  live: ReadyCall,
  { context, elapsedMs, deadlineMs, remarks }: AttemptFacts,
  retryable: boolean,
): Promise<Judgement> {
  const { tool, request } = live;
  const files = await keepFilesLeft(live, context);
  const { partial } = context;
  const extras: JsonObject = {
    ...inputExtra(live.journal),
    ...(partial !== undefined && { partial: await redactSideOutput(live, partial) }),
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
    ...modelNote(remarks.notes),
  });
  return {
    outcome,
    content: outcomeToModelContent(outcome),
    toolSuccess: false,
    repeatIsSafe: false,
    rules: remarks.rules,
  };
}
