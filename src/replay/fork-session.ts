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
import { sessionCounterPrefixes } from '../ledger/session-counters.ts';
import type { OnConfirm } from '../runtime/host/confirm.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import { defaultSuccessCheck } from '../tool/success-check.ts';
import { byCall, recordCassette } from './record-cassette.ts';
import type { ReplayReport } from './replay-report.ts';
import type { MovableClock } from './replay-time.ts';
import type { AfterFork } from './after-fork.ts';
import { ForkSource } from './fork-source.ts';

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
  ledger: Pick<Ledger, 'journal' | 'artifacts' | 'now'>,
  options: ForkOptions<Tools>,
): Promise<Fork<Tools>> {
  checkObject('forkSession', options);
  const { from, at, as, after, tools, redaction, onConfirm, clock } = options;
  const { successCheck = defaultSuccessCheck } = options;
  const ids = byCall(await ledger.journal.readSession(from)).map(([first]) => first?.callId ?? '');
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
  const isBegun = refuseOther(as, forked, await ledger.journal.readSession(as));
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
  ledger: Pick<Ledger, 'journal' | 'now'>,
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
  const { status } = await ledger.journal.append({
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
