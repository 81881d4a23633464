/**
 * A new session that starts in the middle of an old one. Calls before the fork are served from the record. The
 * program runs from its beginning and reaches the fork without any effects. From there on calls are live, recorded or
 * dry.
 *
 * 1. Nothing runs before every call of the record has been served. A call without a recording is a miss; it never
 *    goes live early.
 * 2. A call is served by its id, or by its tool and input if the ids are new; never by an id with another input.
 */
import { checkObject } from '../base/check-keys.ts';
import { QuittanceError } from '../base/error.ts';
import type { RedactionOptions } from '../base/redaction.ts';
import { createIds } from '../base/ids.ts';
import type { QuittanceEvent, SessionForked } from '../call/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { sessionCounterPrefixes } from '../ledger/claims.ts';
import type { OnConfirm } from '../runtime/views.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import { defaultSuccessCheck } from '../tool/success-check.ts';
import { byCall, recordCassette } from './record-cassette.ts';
import type { ReplayReport } from './replay-report.ts';
import type { MovableClock } from './replay-time.ts';
import type { AfterFork } from './after-fork.ts';
import { createRedactor } from '../base/redaction.ts';
import type { JsonValue } from '../base/json.ts';
import { readArtifactName } from '../runtime/read-artifact.ts';
import { undoneToolName } from '../runtime/undo-tool.ts';
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
import { toReport } from './replay-report.ts';
import { ReplayTime } from './replay-time.ts';

export type ForkOptions<Tools extends readonly AnyTool[]> = {
  /** The session to fork. */
  readonly from: string;
  /** The first call that is not served from the record: its id, or the number of calls before it. */
  readonly at: string | number;
  /** The id of the new session. */
  readonly as: string;
  readonly after: AfterFork;
  readonly tools: Tools;
  /** The same as for the runtime: inputs are compared in stored form. */
  readonly redaction?: RedactionOptions;
  /** The same as for the runtime; used for live calls. */
  readonly successCheck?: SuccessCheck;
  /** The clock of the runtime, if it can be moved: recorded timeouts pass on it. Without it, they happen at once. */
  readonly clock?: MovableClock;
  /** Asks people after the fork. Before it, recorded decisions apply. */
  readonly onConfirm?: OnConfirm;
};

/** The origin of a session. */
export type SessionFork = {
  readonly fromSessionId: string;
  /** The first call that was not served from the record; undefined at the end of the session. */
  readonly atCallId: string | undefined;
  /** Number of calls before it. */
  readonly position: number;
  readonly after: AfterFork;
};

export type Fork<Tools extends readonly AnyTool[]> = {
  /** For `runtime.turn`, together with `parentSessionId`. */
  readonly sessionId: string;
  readonly parentSessionId: string;
  /** The tools for `createRuntime`. */
  readonly tools: Tools;
  /** For `createRuntime`: returns recorded decisions, and asks your people after the fork. */
  readonly onConfirm: OnConfirm;
  readonly forked: SessionFork;
  /** Served recordings, unused ones, and calls without a recording. */
  readonly report: () => ReplayReport;
};

/**
 * Forks a session and records the fork in the first event of the new one. Throws if the session or call does not
 * exist, or if the new session exists. An identical fork that has done nothing is reused. If two callers fork into
 * the same session at once, one succeeds and the other gets an error.
 */
export async function forkSession<const Tools extends readonly AnyTool[]>(
  ledger: Pick<
    Ledger,
    'append' | 'readCall' | 'readSession' | 'query' | 'whenChanged' | 'readArtifact' | 'now'
  >,
  options: ForkOptions<Tools>,
): Promise<Fork<Tools>> {
  checkObject('forkSession', options);
  const { from, at, as, after, tools, redaction, onConfirm, clock } = options;
  const { successCheck = defaultSuccessCheck } = options;
  const ids = byCall(await ledger.readSession(from)).map(([first]) => first?.callId ?? '');
  const position = typeof at === 'number' ? at : ids.indexOf(at);
  if (!Number.isInteger(position) || position < 0 || position > ids.length || ids.length === 0)
    throw new QuittanceError(
      'call.unknown',
      typeof at === 'number'
        ? `Session ${JSON.stringify(from)} has ${ids.length} calls; it cannot be forked at ${at}.`
        : `Session ${JSON.stringify(from)} has no call ${JSON.stringify(at)}.`,
      { sessionId: from },
    );
  const forked: SessionFork = { fromSessionId: from, atCallId: ids[position], position, after };
  const isBegun = refuseOther(as, forked, await ledger.readSession(as));
  const whole = await recordCassette(ledger, { sessionId: from }, { tools, maxArtifactBytes: 100_000_000 });
  const before = new Set(ids.slice(0, position));
  const source = new ForkSource(as, whole, before, { after, tools, redaction, clock });
  if (!isBegun) await beginFork(ledger, as, forked);
  return {
    sessionId: as,
    parentSessionId: from,
    // Only the body of each tool changes, and the type system cannot express that.
    tools: tools.map((tool) => source.toTool(tool, successCheck)) as unknown as Tools,
    onConfirm: source.confirming(onConfirm),
    forked,
    report: () => source.report(),
  };
}

/** Does the session already record this fork? Throws if it is anything else. */
function refuseOther(as: string, wanted: SessionFork, events: readonly QuittanceEvent[]): boolean {
  // Failed requests may be recorded before the session begins.
  const stored = events.filter(({ type }) => type !== 'call.not_accepted');
  const [first] = stored;
  if (first === undefined) return false;
  const isSame =
    stored.length === 1 &&
    first.type === 'session.forked' &&
    first.fromSessionId === wanted.fromSessionId &&
    first.position === wanted.position &&
    first.after === wanted.after;
  if (isSame) return true;
  throw new QuittanceError(
    'config.invalid',
    `Session ${JSON.stringify(as)} already exists. A fork needs a new session.`,
  );
}

/** Records the fork as the first event of the new session. Throws if another caller was first. */
export async function beginFork(
  ledger: Pick<Ledger, 'append' | 'readCall' | 'readSession' | 'query' | 'whenChanged' | 'now'>,
  sessionId: string,
  forked: SessionFork,
): Promise<void> {
  const ids = createIds();
  const event: SessionForked = {
    id: ids.next('evt'),
    type: 'session.forked',
    sessionId,
    turnId: '',
    at: ledger.now(),
    cause: undefined,
    ...forked,
  };
  // A session counter that goes from zero to one exactly once: the second caller finds it used up.
  const counter = `${sessionCounterPrefixes(sessionId)[0]}forked`;
  const { status } = await ledger.append({
    entryId: ids.next('ent'),
    sessionId,
    callId: undefined,
    expectedVersion: 0,
    events: [event],
    reserve: [{ counter, amount: 1, limit: 1 }],
    settle: [{ counter, reserved: 1, used: 1 }],
  });
  if (status === 'appended') return;
  throw new QuittanceError(
    'config.invalid',
    `Another caller forked session ${JSON.stringify(sessionId)} at the same time. Fork into a session of another name, or repeat the same fork while nothing has happened in it.`,
    { sessionId },
  );
}

class ForkSource {
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
    if (this.#before.next === undefined || sessionId !== this.#sessionId)
      return this.#continueFor(wanted, callId);
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
  #continueFor(
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
