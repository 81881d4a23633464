import type { RedactionOptions } from '../base/redaction.ts';
import { createRedactor } from '../base/redaction.ts';
import type { JsonValue } from '../base/json.ts';
import type { OnConfirm } from '../runtime/host/confirm.ts';
import { readArtifactName } from '../runtime/read-artifact.ts';
import { undoneToolName } from '../runtime/host/undo-tool.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import type { Cassette, RecordedCall } from './cassette.ts';
import { inputOf } from './cassette.ts';
import { fillRecordedArtifacts } from './fill-recorded.ts';
import { describeMiss } from './describe-miss.ts';
import type { PlayedRun } from './play-back.ts';
import { answerAsRecorded } from './recorded-answers.ts';
import { RecordedError } from './recorded-error.ts';
import type { PlayPreview } from './recorded-previews.ts';
import { playRecordedPreviews } from './recorded-previews.ts';
import type { AskedBody } from './recorded-tool.ts';
import { toRecordedTool } from './recorded-tool.ts';
import type { Playing, Recording } from './recording-shelf.ts';
import { recordingKey, nextRun, RecordingShelf } from './recording-shelf.ts';
import type { ReplayReport } from './replay-report.ts';
import { toReport } from './replay-report.ts';
import type { MovableClock } from './replay-time.ts';
import { ReplayTime } from './replay-time.ts';
import type { AfterFork } from './after-fork.ts';

export class ForkSource {
  readonly #sessionId: string;
  readonly #artifacts: ReadonlyMap<string, Cassette['artifacts'][number]>;
  readonly #after: AfterFork;
  readonly #time: ReplayTime | undefined;
  readonly #keep: (toolName: string, input: JsonValue) => JsonValue;
  readonly #before: RecordingShelf;
  readonly #later: RecordingShelf;
  readonly #answered: readonly RecordedCall[];
  readonly #preview: PlayPreview;
  readonly #clock: MovableClock | undefined;
  readonly #playing: Map<string, Playing> = new Map();
  readonly #missed: ReplayReport['missed'][number][] = [];

  constructor(
    sessionId: string,
    cassette: Cassette,
    before: ReadonlySet<string>,
    {
      after,
      tools,
      redaction,
      clock,
    }: {
      readonly after: AfterFork;
      readonly tools: readonly AnyTool[];
      readonly redaction: RedactionOptions | undefined;
      readonly clock: MovableClock | undefined;
    },
  ) {
    const redactor = createRedactor(redaction);
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    this.#sessionId = sessionId;
    this.#after = after;
    this.#time = clock && new ReplayTime(clock);
    this.#artifacts = new Map(cassette.artifacts.map((artifact) => [artifact.artifactId, artifact]));
    this.#keep = (name, input) => {
      const tool = byName.get(name) ?? byName.get(undoneToolName(name) ?? '');
      return redactor.input(input, tool?.redact?.input).value;
    };
    const ran = cassette.calls.filter(
      ({ runs, toolName }) => runs.length > 0 && toolName !== readArtifactName,
    );
    const shelf = (calls: readonly RecordedCall[]): RecordingShelf =>
      new RecordingShelf(calls.map((call) => ({ call, input: this.#known(call) })));
    this.#before = shelf(ran.filter(({ callId }) => before.has(callId)));
    this.#later = shelf(after === 'recorded' ? ran.filter(({ callId }) => !before.has(callId)) : []);
    this.#answered =
      after === 'recorded' ? cassette.calls : cassette.calls.filter(({ callId }) => before.has(callId));
    this.#preview = playRecordedPreviews(this.#answered, this.#keep);
    this.#clock = clock;
  }

  #known(call: RecordedCall): JsonValue {
    return this.#keep(call.toolName, fillRecordedArtifacts(inputOf(call), this.#artifacts));
  }

  toTool(tool: AnyTool, successCheck: SuccessCheck): AnyTool {
    return toRecordedTool(tool, {
      artifacts: this.#artifacts,
      time: this.#time,
      choose: (asked) => this.#choose(asked),
      preview: ({ tool: { name }, input }) => (this.#isLive() ? 'live' : this.#preview(name, input)),
      handsOff: () => this.#isLive(),
      ...(this.#after === 'live' && { live: { successCheck } }),
    });
  }

  confirming(ask: OnConfirm | undefined): OnConfirm {
    const recorded = answerAsRecorded(this.#answered, this.#keep, this.#clock);
    return (request) =>
      this.#before.next === undefined && ask !== undefined && this.#after !== 'recorded'
        ? ask(request)
        : recorded(request);
  }

  /** May the requested call have effects? */
  #isLive(): boolean {
    return this.#after === 'live' && this.#before.next === undefined;
  }

  report(): ReplayReport {
    return toReport([...this.#before.recordings, ...this.#later.recordings], this.#missed);
  }

  #choose({ tool, input, context }: AskedBody): PlayedRun | 'live' {
    const { callId, sessionId } = context;
    const begun = sessionId === this.#sessionId ? this.#playing.get(callId) : undefined;
    if (begun !== undefined) return nextRun(begun);
    const wanted = { toolName: tool.name, input: this.#keep(tool.name, input) };
    // The record belongs to one session; other sessions of the same runtime do not use it.
    if (this.#before.next === undefined || sessionId !== this.#sessionId) return this.#goOn(wanted, callId);
    const byId = this.#before.recordings.find(
      ({ call, status, key }) =>
        call.callId === callId && status === 'waiting' && key === recordingKey(wanted),
    );
    if (byId !== undefined) byId.status = 'played';
    const found =
      byId === undefined ? this.#before.takeByKey(wanted) : ({ type: 'found', recording: byId } as const);
    if (found.type === 'found') return this.#play(callId, found.recording);
    throw this.#miss(callId, describeMiss(wanted, found.why, this.#before, {}), tool.name, found.why);
  }

  /** After the fork. */
  #goOn(
    wanted: { readonly toolName: string; readonly input: JsonValue },
    callId: string,
  ): PlayedRun | 'live' {
    switch (this.#after) {
      case 'live':
        return 'live';
      case 'dry':
        throw new RecordedError(
          'tool.fixture_missing',
          'Dry run: the tool did not run. The call passed every check before it.',
          { retryable: false, unsettled: false, extras: { why: 'dry', would_run: wanted } },
        );
      case 'recorded': {
        const found = this.#later.takeByKey(wanted);
        if (found.type === 'found') return this.#play(callId, found.recording);
        throw this.#miss(
          callId,
          describeMiss(wanted, found.why, this.#later, {}),
          wanted.toolName,
          found.why,
        );
      }
    }
  }

  #play(callId: string, recording: Recording): PlayedRun {
    const fresh = { recording, played: 0 };
    this.#playing.set(callId, fresh);
    return nextRun(fresh);
  }

  #miss(
    callId: string,
    error: RecordedError,
    toolName: string,
    why: ReplayReport['missed'][number]['why'],
  ): RecordedError {
    this.#missed.push({ callId, toolName, why, message: error.message });
    return error;
  }
}
