import type { RedactionOptions, Redactor } from '../base/redaction.ts';
import { createRedactor } from '../base/redaction.ts';
import type { JsonValue } from '../base/json.ts';
import type { OnConfirm } from '../runtime/host/confirm.ts';
import { readArtifactName } from '../runtime/read-artifact.ts';
import { undoneToolName } from '../runtime/host/undo-tool.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { Cassette, RecordedCall } from './cassette.ts';
import { inputOf } from './cassette.ts';
import { fillRecordedArtifacts } from './fill-recorded.ts';
import { describeMiss } from './describe-miss.ts';
import type { PlayedRun } from './play-back.ts';
import { answerAsRecorded } from './recorded-answers.ts';
import type { PlayPreview } from './recorded-previews.ts';
import { playRecordedPreviews } from './recorded-previews.ts';
import type { AskedBody } from './recorded-tool.ts';
import { toRecordedTool } from './recorded-tool.ts';
import type { Miss, Playing, Recording } from './recording-shelf.ts';
import { recordingKey, nextRun, RecordingShelf } from './recording-shelf.ts';
import type { ReplayReport } from './replay-report.ts';
import { assertConsumed, toReport } from './replay-report.ts';
import type { MovableClock } from './replay-time.ts';
import { ReplayTime } from './replay-time.ts';

export type RecordedToolsOptions = {
  /** `strict`: bodies run in the order they were recorded. `loose`, the default: in any order. */
  readonly mode?: 'strict' | 'loose';
  /** What to do about a tool whose schemas are not those that were recorded. `refuse`, the default, is a miss. */
  readonly drift?: 'refuse' | 'allow';
  /** As given to the runtime: inputs are compared in their kept form. */
  readonly redaction?: RedactionOptions;
  /** The clock of the runtime, where it is one that can be moved: recorded timeouts take their time on it. */
  readonly clock?: MovableClock;
};

export type RecordedTools<Tools extends readonly AnyTool[]> = {
  /** The same tools for `createRuntime`. No body of yours is in them. */
  readonly tools: Tools;
  /** Answers for the people who were asked when it was recorded; says no to what nobody was asked then. */
  readonly onConfirm: OnConfirm;
  /** What was played, what was not, and what was asked for in vain. */
  readonly report: () => ReplayReport;
  /** Throws `cassette.unused` unless every recording was played and nothing was asked for in vain. */
  readonly assertConsumed: () => void;
};

/**
 * Tools that play a cassette. Everything before a body happens as it does live: schemas, policy, limits and people
 * decide anew. Then, instead of the body, the recording of this tool with this input is played, the first time the
 * first of them, the second time the second. Where there is none the call ends as `tool.fixture_missing`, with the
 * nearest recording and where it differs; the real body never runs.
 */
export function recordedTools<const Tools extends readonly AnyTool[]>(
  cassette: Cassette,
  tools: Tools,
  { mode = 'loose', drift = 'refuse', redaction, clock }: RecordedToolsOptions = {},
): RecordedTools<Tools> {
  const redactor = createRedactor(redaction);
  const time = clock && new ReplayTime(clock);
  const artifacts = new Map(cassette.artifacts.map((artifact) => [artifact.artifactId, artifact]));
  const byName = new Map<string, AnyTool>(tools.map((tool) => [tool.name, tool]));
  const keepFor = (toolName: string, input: JsonValue): JsonValue =>
    keep(redactor, byName.get(toolName) ?? byName.get(undoneToolName(toolName) ?? ''), input);
  const known = (call: RecordedCall): JsonValue =>
    keepFor(call.toolName, fillRecordedArtifacts(inputOf(call), artifacts));
  const shelf = new RecordingShelf(
    cassette.calls
      .filter(({ runs, toolName }) => runs.length > 0 && toolName !== readArtifactName)
      .map((call) => ({ call, input: known(call) })),
  );
  const stopped = cassette.calls.filter(({ runs }) => runs.length === 0);
  /** The recording each call plays, and how many of its runs it has played. */
  const playing = new Map<string, Playing>();
  const missed: ReplayReport['missed'][number][] = [];

  const preview = playRecordedPreviews(cassette.calls, keepFor);

  const choose = ({ tool, input, context }: AskedBody): PlayedRun => {
    const ref = JSON.stringify([context.sessionId, context.callId]);
    const begun = playing.get(ref);
    if (begun !== undefined) return nextRun(begun);
    const wanted = {
      toolName: tool.name,
      input: keep(redactor, tool, input),
      ...(drift === 'refuse' && {
        schemaDigest: tool.schemaDigest,
        schemaDigestWithDefaults: tool.schemaDigestWithDefaults,
      }),
    };
    const miss = (why: Miss, about: { expected?: Recording; stopped?: RecordedCall } = {}): never => {
      const error = describeMiss(wanted, why, shelf, {
        ...about,
        schemas: { now: tool.schemaDigest },
      });
      missed.push({ callId: context.callId, toolName: tool.name, why, message: error.message });
      throw error;
    };
    const found = mode === 'strict' ? shelf.takeInOrder(wanted) : shelf.takeByKey(wanted);
    if (found.type === 'missed') {
      const key = recordingKey(wanted);
      const denied = stopped.find(
        (call) =>
          call.toolName === tool.name && recordingKey({ toolName: tool.name, input: known(call) }) === key,
      );
      if (denied !== undefined && found.why !== 'order') return miss('denied', { stopped: denied });
      return miss(found.why, found);
    }
    const fresh = { recording: found.recording, played: 0 };
    playing.set(ref, fresh);
    return nextRun(fresh);
  };

  const showRecorded = ({ tool, input }: Omit<AskedBody, 'context'>): ReturnType<PlayPreview> =>
    preview(tool.name, input);

  const report = (): ReplayReport => toReport(shelf.recordings, missed);
  return {
    // Each is the tool it was, but for its body; only the types know which is which.
    tools: tools.map((tool) =>
      toRecordedTool(tool, { artifacts, time, choose, preview: showRecorded, handsOff: never }),
    ) as unknown as Tools,
    onConfirm: answerAsRecorded(cassette.calls, keepFor, clock),
    report,
    assertConsumed: () => assertConsumed(report()),
  };
}

const never = (): boolean => false;

/** An input as it is kept: on both sides of a comparison, so that a mask is compared with a mask. */
const keep = (redactor: Redactor, tool: AnyTool | undefined, input: JsonValue): JsonValue =>
  redactor.input(input, tool?.redact?.input).value;
