/**
 * Judges the end of a body: its outcome and the exact content for the model. Also judges the ends of recorded bodies, and
 * stores results that came too late.
 */
import { withoutAdvice } from '../base/json-exotic.ts';
import { JsonCopying, copyJson, formatPath, freezeJson, toJson } from '../base/json.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { attachedFilesToExtra } from '../call/attached-files.ts';
import { isTerminalResult, isToolMadeResult } from '../call/outcome.ts';
import { formatIssues } from '../tool/format-issues.ts';
import type { SuccessJudgement } from '../tool/success-check.ts';
import { runSuccessCheck } from '../tool/success-check.ts';
import { isErrorLike } from '../tool/describe-thrown.ts';
import type { AttemptEnd, AttemptFacts, Judgement, RecordedEnd, BodyEnd } from './judgement.ts';
import type { CheckedCall, ActiveCall } from './active-call.ts';
import { logProblem, modelNote, isChecked } from './active-call.ts';
import { classifyThrown } from './classify-thrown.ts';
import {
  recordedEndOf,
  fail,
  keepFilesLeft,
  notChecked,
  succeed,
  redactSideOutput,
  ruleValue,
  repeatOf,
  spillNotice,
  withNote,
  AttemptRemarks,
  ruleOutput,
  withheld,
} from './judgement.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { CompiledSchema } from '../tool/schema.ts';
import { inputExtra, clean, cleanOutput } from './call-input.ts';
import type { RuleMark } from '../call/events/gate-event.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import type { Command } from '../call/decide.ts';
import type { EventDataOf } from '../call/event-data.ts';
import { cutText } from '../base/cut-text.ts';
import type { ToolEnd } from '../policy/judge/output-view.ts';
import { within } from '../base/deadlines.ts';
import { LedgerTrouble } from './ledger-trouble.ts';

export async function judgeEnd(
  active: CheckedCall,
  end: AttemptEnd,
  facts: AttemptFacts,
): Promise<Judgement> {
  const recorded = recordedEndOf(facts.context);
  if (recorded === undefined) return judge(active, end, facts);
  return judgeRecorded(
    active,
    recorded,
    end,
    facts,
    (left, exact) => judge(active, left, exact),
    (exact, retryable) => timedOut(active, exact, retryable),
  );
}

function judge(active: CheckedCall, end: AttemptEnd, facts: AttemptFacts): Promise<Judgement> {
  switch (end.type) {
    case 'returned':
      return judgeOutput(active, end.value, facts);
    case 'threw':
      return judgeThrown(active, end.error, facts);
    case 'timed_out':
      return timedOut(active, facts, active.tool.retryOnTimeout);
    case 'cancelled':
      return cancelled(active, end.reason, facts);
  }
}

async function judgeOutput(active: CheckedCall, value: unknown, facts: AttemptFacts): Promise<Judgement> {
  const { engine, tool } = active;
  const copied = copyJson(value, false);
  if (copied instanceof JsonCopying) return unreadable(active, copied, facts);
  const json = copied ?? null;
  const verdict = await runSuccessCheck(tool.successCheck ?? engine.successCheck, tool.name, json);
  if (!verdict.ok) return reported(active, value, json, verdict, facts);
  return tool.output === undefined
    ? conclude(active, json, isToolMadeResult(value), facts)
    : judgeSchema(active, tool.output, value, json, facts);
}

function unreadable(active: CheckedCall, copied: JsonCopying, facts: AttemptFacts): Promise<Judgement> {
  const { path = [], problem = '' } = copied;
  const where = formatPath(path.reverse());
  return unusable(
    active,
    facts,
    `returned something JSON cannot hold at ${where}: ${withoutAdvice(problem)}`,
    undefined,
    problem,
  );
}

async function judgeSchema(
  active: CheckedCall,
  schema: CompiledSchema,
  value: unknown,
  json: JsonValue,
  facts: AttemptFacts,
): Promise<Judgement> {
  const fit = await schema.check(value);
  if (!fit.ok && fit.mistake !== undefined) return unchecked(active, facts, fit.mistake, json);
  if (!fit.ok)
    return unusable(
      active,
      facts,
      `returned an output that does not fit its schema: ${formatIssues(fit.issues)}`,
      json,
    );
  const read = toJson(fit.value);
  if (!read.ok)
    return unusable(
      active,
      facts,
      `has an output schema whose reading JSON cannot hold at ${formatPath(read.path)}: ${withoutAdvice(read.problem)}`,
      undefined,
      read.problem,
    );
  return conclude(active, read.value, isToolMadeResult(value), facts);
}

/** Applies the rules on results, then creates the outcome. */
async function conclude(
  active: CheckedCall,
  output: JsonValue,
  toolMade: boolean,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { policy } = active;
  if (policy === undefined) return succeed(active, output, toolMade, facts);
  const ruled = await ruleValue(active, policy, output, facts.remarks);
  if (ruled.type === 'block')
    return fail(active, { code: 'policy.output', error: ruled.message, retryable: false }, facts);
  // A redacted result may no longer be a valid `ToolResult`.
  return succeed(active, ruled.output, toolMade && ruled.output === output, facts);
}

function unusable(
  active: CheckedCall,
  facts: AttemptFacts,
  problem: string,
  output?: JsonValue,
  /** For the developer. */
  advice?: string,
): Promise<Judgement> {
  if (advice !== undefined && advice !== withoutAdvice(advice))
    logProblem(active, `What the tool returned: ${advice}.`);
  const error = `The tool "${active.tool.name}" ${problem}.`;
  return fail(
    active,
    { code: 'tool.invalid_output', error, retryable: false, ...(output === undefined ? {} : { output }) },
    facts,
  );
}

/** The failure if a check of the result did not complete. The model sees no details. */
function unchecked(
  active: CheckedCall,
  facts: AttemptFacts,
  mistake: string,
  output: JsonValue,
): Promise<Judgement> {
  logProblem(active, mistake);
  return fail(active, { ...notChecked(active), output, shows: 'output' }, facts);
}

function reported(
  active: CheckedCall,
  value: unknown,
  output: JsonValue,
  { reason, retryable = true, mistake, isInOwnWords }: Extract<SuccessJudgement, { ok: false }>,
  facts: AttemptFacts,
): Promise<Judgement> {
  if (mistake !== undefined) return unchecked(active, facts, mistake, output);
  // A recorded error is already a complete text.
  const isRecorded = recordedEndOf(facts.context) !== undefined;
  return fail(
    active,
    {
      code: 'tool.reported_error',
      error: reason,
      // The next call of the turn is denied.
      retryable: retryable && !(isToolMadeResult(value) && isTerminalResult(value)),
      output,
      toolMade: isToolMadeResult(value),
      shows: isRecorded ? 'whole' : isInOwnWords ? 'message' : 'output',
    },
    facts,
  );
}

function judgeThrown(active: CheckedCall, thrown: unknown, facts: AttemptFacts): Promise<Judgement> {
  const aborted = active.signals.cancelled !== undefined && isAbort(thrown);
  if (aborted) return cancelled(active, active.signals.cancelled ?? '', facts);
  const { message, ...classified } = classifyThrown(thrown);
  return fail(active, { ...classified, error: message }, facts);
}

function isAbort(thrown: unknown): boolean {
  try {
    return isErrorLike(thrown) && (thrown as { name?: unknown }).name === 'AbortError';
  } catch {
    return false;
  }
}

/** A cancelled body may have done its work. Only a tool that may run again is certainly harmless. */
function cancelled(active: CheckedCall, reason: string, facts: AttemptFacts): Promise<Judgement> {
  if (active.tool.mayRerun)
    return fail(
      active,
      { code: 'tool.cancelled', error: `The call was cancelled: ${reason}`, retryable: true },
      facts,
    );
  const error = `The call was cancelled while the tool was running (${reason}). It may have taken effect.`;
  return fail(active, { code: 'tool.indeterminate', error, retryable: false }, facts);
}

/** Stores what the body had logged and attached by then. */
async function timedOut(
  active: CheckedCall,
  { context, elapsedMs, deadlineMs, remarks }: AttemptFacts,
  retryable: boolean,
): Promise<Judgement> {
  const { tool, request } = active;
  const files = await keepFilesLeft(active, context);
  const { partial } = context;
  const extras: JsonObject = {
    ...inputExtra(active.journal),
    ...(partial !== undefined && { partial: await redactSideOutput(active, partial) }),
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

/**
 * Judges the end of a recorded body with the current success check, rules and redactor. Two things differ from other
 * bodies: it may claim any reason code, and earlier rulings that removed data apply again if the rules still exist. That
 * data is gone from the record, so the rules could not find it.
 */
type Judge = (end: AttemptEnd, facts: AttemptFacts) => Promise<Judgement>;
type TimeOut = (facts: AttemptFacts, retryable: boolean) => Promise<Judgement>;

async function judgeRecorded(
  active: CheckedCall,
  recorded: RecordedEnd,
  end: AttemptEnd,
  facts: AttemptFacts,
  judge: Judge,
  timeOut: TimeOut,
): Promise<Judgement> {
  const { remarks } = facts;
  const marks = recallMarks(active, recorded, remarks);
  for (const failed of recorded.unkept) active.journal.apply({ type: 'fail_to_persist', ...failed });
  if (recorded.reportedAgain.length > 0) reportAgain(active, recorded.reportedAgain);
  const judgement = await judgeAs(active, recorded, end, facts, judge, timeOut);
  // The same rules already made these rulings. A ruling about the remaining data is not needed.
  const rules = marks ?? judgement.rules;
  const isSpilled = recorded.unkept.some(({ keptIn }) => keptIn === 'spill');
  // The recorded note came last.
  const outcome = isSpilled ? withNote(judgement.outcome, spillNotice) : judgement.outcome;
  return { ...judgement, rules, outcome };
}

/** Records repeated reports after the call is settled. No caller waits for this. */
function reportAgain(active: CheckedCall, notes: readonly string[]): void {
  const { stragglers } = active.engine;
  const settled = active.services
    .replyTo(active)
    ?.then((reply) => (reply.type === 'held' ? reply.rest : reply));
  const noted: Promise<unknown> = Promise.resolve(settled)
    .then(async () => {
      for (const details of notes)
        await active.journal.remark({ type: 'recall', how: 'replayed', fromCallId: active.callId, details });
    })
    .catch(() => undefined)
    .finally(() => stragglers.delete(noted));
  stragglers.add(noted);
}

function judgeAs(
  active: CheckedCall,
  { thrown, timeout }: RecordedEnd,
  end: AttemptEnd,
  facts: AttemptFacts,
  judge: Judge,
  timeOut: TimeOut,
): Promise<Judgement> {
  const isThrown = end.type === 'threw' && end.error === thrown;
  if (timeout !== undefined && (isThrown || end.type === 'timed_out'))
    return timeOut({ ...facts, ...timeout }, timeout.retryable);
  if (!isThrown) return judge(end, facts);
  const { message, ...classified } = classifyThrown(thrown, 'any reason');
  return fail(
    active,
    { ...classified, error: message, shows: 'whole', isRecorded: classified.code !== 'tool.fixture_missing' },
    facts,
  );
}

/** Records the earlier rulings, and returns them if the rules are the same. */
function recallMarks(
  active: CheckedCall,
  { rules, policyVersion }: RecordedEnd,
  remarks: AttemptRemarks,
): readonly RuleMark[] | undefined {
  const { policy } = active;
  if (policy === undefined || rules.length === 0) return undefined;
  const isSame = policy.version === policyVersion;
  const standing = isSame ? rules : rules.filter((mark) => wouldTakeOutAgain(policy, mark));
  for (const { ruleId, action, message, observed } of standing)
    if (action === 'warn' && observed === undefined && !remarks.rules.some((it) => it.ruleId === ruleId))
      remarks.note(message);
  remarks.rules = standing;
  return isSame ? standing : undefined;
}

/** True if a rule with this id still redacts or blocks. */
const wouldTakeOutAgain = ({ composed }: Policy, { ruleId, action, observed }: RuleMark): boolean =>
  observed === undefined &&
  (action === 'redact' || action === 'block') &&
  composed.rules.some(
    // The mode of a candidate is `observe`.
    ({ id, rule, mode }) =>
      id === ruleId && rule.type === 'post' && rule.action === action && mode === 'enforce',
  );

const longest = 100_000;

/** Time limit for the checks of a result that is stored after its deadline. */
export const storingGraceMs = 1_000;

/** Stores a result that a body returned after its call had ended. The outcome stays unchanged. */
export function appendLate(
  active: ActiveCall,
  end: BodyEnd,
  elapsedMs: number,
  attempt: number = active.journal.call?.attempt ?? 1,
): void {
  const { stragglers } = active.engine;
  const kept: Promise<unknown> = readLate(active, end)
    .then((result) =>
      keepLate(active, { type: 'add_late', attempt, elapsedMs: Math.round(elapsedMs), result }),
    )
    // The caller already has the outcome.
    .catch(() => undefined)
    .finally(() => stragglers.delete(kept));
  stragglers.add(kept);
}

/** Stores a late result. If neither the ledger nor the spill file can, it stays in memory until one of them can. */
async function keepLate(active: ActiveCall, late: Command & { type: 'add_late' }): Promise<void> {
  try {
    await active.journal.addLate(late);
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    active.engine.failedWrites.add({
      call: { sessionId: active.sessionId, callId: active.callId, turnId: active.turn.turnId },
      depth: active.turn.depth === 0 ? undefined : active.turn.depth,
      boundary: 'settle',
      error: cutText(clean(active, error.message), 500),
      late,
    });
  }
}

export async function readLate(
  active: ActiveCall,
  end: BodyEnd,
): Promise<EventDataOf<'tool.late'>['result']> {
  if (end.type === 'threw') {
    const text = clean(active, classifyThrown(end.error).message);
    const error = await underRules(active, { type: 'error', text });
    return {
      type: 'threw',
      error: cutText(typeof error === 'string' ? error : JSON.stringify(error), 4_000),
    };
  }
  const read = toJson(end.value);
  if (!read.ok)
    return {
      type: 'threw',
      error: clean(
        active,
        `Returned something JSON cannot hold at ${formatPath(read.path)}: ${read.problem}`,
      ),
    };
  const output = cleanOutput(active, await underRules(active, { type: 'result', value: read.value }));
  const chars = JSON.stringify(output).length;
  if (chars <= longest) return { type: 'returned', output: freezeJson(output) };
  return { type: 'returned', output: cutText(JSON.stringify(output), longest), cutFromChars: chars };
}

/** A rule withholds a late result just like a timely one. */
async function underRules(active: ActiveCall, end: ToolEnd): Promise<JsonValue> {
  const { policy } = active;
  if (policy === undefined || !isChecked(active)) return end.type === 'error' ? end.text : end.value;
  // A rule that never answers must not prevent the record of the late result.
  const ruled = await within(
    active.engine,
    storingGraceMs,
    ruleOutput(active, policy, end, new AttemptRemarks()),
    undefined,
  );
  return ruled === undefined || ruled.type === 'block' ? withheld : ruled.output;
}

/** Stores the result of a body as late if another process has ended the call. */
export function keepAsLate(active: ActiveCall, outcome: ToolOutcome, attempt: number): void {
  const end = bodyEndOf(outcome);
  if (end !== undefined) appendLate(active, end, elapsedOf(outcome), attempt);
}

export const elapsedOf = (outcome: ToolOutcome): number => ('elapsedMs' in outcome ? outcome.elapsedMs : 0);

/** The result of a body, derived from its outcome. */
export function bodyEndOf(outcome: ToolOutcome): BodyEnd | undefined {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return { type: 'returned', value: outcome.output };
    case 'ToolArtifactReference':
      return { type: 'returned', value: { artifactId: outcome.artifactId, summary: outcome.summary } };
    case 'ToolFailure':
      return { type: 'threw', error: new Error(outcome.error) };
    case 'ToolTimeout':
    case 'ToolDenied':
      return undefined;
  }
}
