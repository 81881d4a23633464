/**
 * Makes a tool end as a recorded run did: first its recorded side effects, then its result or error. It answers at
 * once, except for timeouts and cancellations, which a tool cannot produce by itself.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { readJsonText } from '../base/json.ts';
import type { ToolFailure, ToolOutcome, ToolTimeout } from '../call/outcome.ts';
import { retryableButForDoubt, timeoutMessage, parseToolResult, toolResult } from '../call/outcome.ts';
import type { ToolContext } from '../tool/tool-context.ts';
import { endAsRecorded } from '../runtime/judgement.ts';
import { renameTexts } from './artifact-names.ts';
import type { RecordedLate, RecordedRun } from './cassette.ts';
import type { RecordedArtifacts } from './fill-recorded.ts';
import type { AttachedFile } from '../call/attached-files.ts';
import { attachedFilesOf } from '../call/attached-files.ts';
import { outputArtifactOf } from './output-artifact.ts';
import { RecordedError } from './recorded-error.ts';
import type { ReplayTime } from './replay-time.ts';

/** A run, and the rules that judged it. */
export type PlayedRun = { readonly run: RecordedRun; readonly policyVersion: string | undefined };

export type Playback =
  /** `reported`: why the returned value counts as a failure, if it does. */
  | { readonly type: 'returned'; readonly value: unknown; readonly reported: string | undefined }
  | { readonly type: 'threw'; readonly error: RecordedError }
  | { readonly type: 'pending'; readonly pending: Promise<unknown> };

/**
 * How a timeout happens. On a movable clock; `at_once`, if the runtime treats every unanswered call as silent; or
 * `never`, and the tool reports the timeout itself. The recorded time is always reported.
 */
export type Time = { readonly clock: ReplayTime; readonly idleMs: number | undefined } | 'at_once' | 'never';

export function playBack(
  { run, policyVersion }: PlayedRun,
  artifacts: RecordedArtifacts,
  context: ToolContext,
  time: Time,
): Playback {
  const played = play(run, artifacts, context, time);
  const { outcome } = run;
  endAsRecorded(context, {
    thrown: played.type === 'threw' ? played.error : undefined,
    timeout:
      outcome.type === 'ToolTimeout' ? { ...outcome, retryable: retryableButForDoubt(outcome) } : undefined,
    rules: isMissing(played) ? [] : run.rules,
    policyVersion,
    reportedAgain: isMissing(played) ? [] : run.reportedAgain,
    unkept: isMissing(played) ? [] : run.unkept,
  });
  return played;
}

const isMissing = (played: Playback): boolean =>
  played.type === 'threw' && played.error.reason === 'tool.fixture_missing';

function play(run: RecordedRun, artifacts: RecordedArtifacts, context: ToolContext, time: Time): Playback {
  for (const { message, fields } of run.log) context.log(message, fields);
  for (const target of run.reached) context.reached(target);
  context.charge(run.costMicros);
  if (run.partial !== undefined) context.record(run.partial);
  const { outcome } = run;
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return returned(outcome.output, outcome, artifacts, context);
    case 'ToolArtifactReference':
      return kept(outcome.artifactId, artifacts, (output) => returned(output, outcome, artifacts, context));
    case 'ToolFailure':
      return failed(outcome, run.unsettled, artifacts, context);
    case 'ToolTimeout':
      if (time === 'never')
        return threw(
          new RecordedError(outcome.code, timeoutMessage(outcome), {
            retryable: retryableButForDoubt(outcome),
            unsettled: run.unsettled,
          }),
        );
      return { type: 'pending', pending: runOut(outcome, run.late, context, time) };
    case 'ToolDenied':
      return missing(
        `The cassette claims that call ${JSON.stringify(outcome.callId)} both ran and was denied.`,
      );
  }
}

type Returned = Extract<ToolOutcome, { readonly wasCoerced: boolean }>;

function returned(
  output: JsonValue,
  { files = [], toolResult: made }: Returned,
  artifacts: RecordedArtifacts,
  context: ToolContext,
): Playback {
  const names = attachAgain(files, artifacts, context);
  if (!(names instanceof Map)) return names;
  return {
    type: 'returned',
    value: asMade(renameTexts(output, names), made !== undefined),
    reported: undefined,
  };
}

/** The new names of the files, or the failure that one is missing. */
function attachAgain(
  files: readonly AttachedFile[],
  artifacts: RecordedArtifacts,
  context: ToolContext,
): Map<string, string> | Playback {
  const names = new Map<string, string>();
  for (const { artifactId, mimeType, name } of files) {
    const content = artifacts.get(artifactId)?.content;
    if (content === undefined) return leftBehind(artifactId, artifacts);
    const attached = context.attach({ mimeType, content, ...(name !== undefined && { name }) });
    names.set(artifactId, attached.$artifact);
  }
  return names;
}

/** A turn decision of the tool itself also counts in a replay. A value that a rule changed is plain data. */
function asMade(output: JsonValue, made: boolean): unknown {
  if (!made) return output;
  try {
    return toolResult(parseToolResult(output));
  } catch {
    return output;
  }
}

function failed(
  outcome: ToolFailure,
  unsettled: boolean,
  artifacts: RecordedArtifacts,
  context: ToolContext,
): Playback {
  const attached = attachedFilesOf(outcome.payloadExtras);
  // A value that only looks like an attached file is ordinary output.
  if (attached === undefined || attached.files.some(({ artifactId }) => !artifacts.has(artifactId)))
    return failedWith(outcome, outcome.payloadExtras, unsettled, artifacts, context);
  const names = attachAgain(attached.files, artifacts, context);
  if (!(names instanceof Map)) return names;
  const { [attached.key]: _, ...others } = outcome.payloadExtras ?? {};
  const extras = renameTexts(others, names) as JsonObject; // renaming an object returns an object
  const left = Object.keys(extras).length > 0 ? extras : undefined;
  return failedWith(outcome, left, unsettled, artifacts, context);
}

function failedWith(
  outcome: ToolFailure,
  extras: JsonObject | undefined,
  unsettled: boolean,
  artifacts: RecordedArtifacts,
  context: ToolContext,
): Playback {
  const { code, error, toolResult: made } = outcome;
  const retryable = retryableButForDoubt(outcome);
  if (code === 'tool.cancelled') return { type: 'pending', pending: untilCancelled(context) };
  if (code !== 'tool.reported_error' || !retryable || extras === undefined || !isReport(extras))
    return threw(new RecordedError(code, error, { retryable, unsettled, ...(extras && { extras }) }));
  const partial = extras['partial'];
  if (typeof partial === 'object' && partial !== null) context.record(partial as JsonObject);
  const report = (output: JsonValue): Playback => ({
    type: 'returned',
    value: asMade(output, made !== undefined),
    reported: error,
  });
  const aside = outputArtifactOf(extras);
  return aside === undefined ? report(extras['output'] ?? null) : kept(aside, artifacts, report);
}

/** Are these extras exactly those that the runtime adds for an unsuccessful output? */
const isReport = (extras: JsonObject): boolean =>
  (Object.hasOwn(extras, 'output') || Object.hasOwn(extras, 'output_artifact')) &&
  Object.keys(extras).every((key) =>
    ['output', 'output_artifact', 'partial', 'input', 'input_omitted'].includes(key),
  );

/** Reads a large output from its artifact. */
function kept(
  artifactId: string,
  artifacts: RecordedArtifacts,
  use: (output: JsonValue) => Playback,
): Playback {
  const content = artifacts.get(artifactId)?.content;
  if (typeof content !== 'string') return leftBehind(artifactId, artifacts);
  let output: JsonValue;
  try {
    output = readJsonText(content);
  } catch {
    return missing(`The content of ${artifactId} in the cassette is not JSON. Record again.`);
  }
  return use(output);
}

function leftBehind(artifactId: string, artifacts: RecordedArtifacts): Playback {
  const { sizeBytes, digest } = artifacts.get(artifactId) ?? {};
  return missing(
    sizeBytes === undefined
      ? `The cassette lacks ${artifactId}. Record again.`
      : `The content of ${artifactId} (${sizeBytes} bytes, ${digest}) was too large for the cassette. ` +
          'Record again with a larger limit.',
  );
}

const threw = (error: RecordedError): Playback => ({ type: 'threw', error });

const missing = (message: string): Playback => threw(fixtureMissing(message, 'content'));

const fixtureMissing = (message: string, why: string): RecordedError =>
  new RecordedError('tool.fixture_missing', message, { retryable: false, unsettled: false, extras: { why } });

/** Never ends in time; a recorded late result is late again. */
function runOut(
  { elapsedMs }: ToolTimeout,
  late: RecordedLate | undefined,
  context: ToolContext,
  time: Exclude<Time, 'never'>,
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  if (late !== undefined)
    context.signal.addEventListener('abort', () => {
      if (late.type === 'returned') resolve(late.output);
      else reject(new Error(late.error));
    });
  if (time !== 'at_once') time.clock.runOut(elapsedMs, context, time.idleMs);
  return promise;
}

/** The call was cancelled while it ran. If it is not cancelled now, one second is enough to notice. */
function untilCancelled(context: ToolContext): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = setTimeout(() => {
    const message = 'This call was cancelled while it was recorded, but it is not cancelled now.';
    reject(fixtureMissing(message, 'cancelled'));
  }, 1_000);
  context.signal.addEventListener('abort', () => {
    clearTimeout(giveUp);
    reject(new DOMException('The call was cancelled.', 'AbortError'));
  });
  return promise;
}
