import { checkObject } from '../base/check-keys.ts';
import type { RedactionOptions, Redactor } from '../base/redaction.ts';
import { createRedactor } from '../base/redaction.ts';
import type { JsonValue } from '../base/json.ts';
import type { OnConfirm } from '../runtime/views.ts';
import { readArtifactName } from '../runtime/read-artifact.ts';
import { undoneToolName } from '../runtime/undo-tool.ts';
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
  /** `strict`: calls must come in the recorded order. `loose`, the default: in any order. */
  readonly mode?: 'strict' | 'loose';
  /** How to treat a tool with changed schemas. `refuse`, the default, is a miss. */
  readonly drift?: 'refuse' | 'allow';
  /** The same as for the runtime: inputs are compared in stored form. */
  readonly redaction?: RedactionOptions;
  /** The clock of the runtime, if it can be moved: recorded timeouts pass on it. */
  readonly clock?: MovableClock;
};

export type RecordedTools<Tools extends readonly AnyTool[]> = {
  /** The same tools for `createRuntime`, without your code. */
  readonly tools: Tools;
  /** Returns the recorded decisions; denies confirmations that were not recorded. */
  readonly onConfirm: OnConfirm;
  /** Played recordings, unused ones, and calls without a recording. */
  readonly report: () => ReplayReport;
  /** Throws `cassette.unused` unless every recording was played and every call had one. */
  readonly assertConsumed: () => void;
};

/**
 * Tools that play a cassette. Everything before the tool works as in a live call: schemas, policy, limits and people
 * decide again. Then, instead of the tool, the next recording of this tool and input is played. A call without one
 * ends as `tool.fixture_missing`, with the nearest recording and the differences. The real tool never runs.
 */
export function recordedTools<const Tools extends readonly AnyTool[]>(
  cassette: Cassette,
  tools: Tools,
  options: RecordedToolsOptions = {},
): RecordedTools<Tools> {
  checkObject('recordedTools', options);
  const { mode = 'loose', drift = 'refuse', redaction, clock } = options;
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
  /** The recording that each call plays, and how many of its runs were played. */
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
    // Only the body of each tool changes, and the type system cannot express that.
    tools: tools.map((tool) =>
      toRecordedTool(tool, { artifacts, time, choose, preview: showRecorded, handsOff: never }),
    ) as unknown as Tools,
    onConfirm: answerAsRecorded(cassette.calls, keepFor, clock),
    report,
    assertConsumed: () => assertConsumed(report()),
  };
}

const never = (): boolean => false;

/** The stored form of an input, for both sides of a comparison, so that masks compare with masks. */
const keep = (redactor: Redactor, tool: AnyTool | undefined, input: JsonValue): JsonValue =>
  redactor.input(input, tool?.redact?.input).value;
