/**
 * Checks that the events of one call could have happened, by the rules that allowed them.
 *
 * An open call keeps its events here. A settled one keeps a few bits: a ledger may have millions of them, and the
 * bits are enough to judge everything that may follow.
 */
import type { Call } from '../call/call.ts';
import type { CallEvent } from '../call/event.ts';
import type { Subject } from '../call/decide.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import { isAuditKind } from '../call/audit.ts';
import { checkAuditOrder } from '../call/audit-order.ts';
import { projectAudit } from '../call/audit-projection.ts';
import { decide } from '../call/decide.ts';
import { evolve } from '../call/evolve.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import { isDenialReason, isOutcomeType } from '../call/outcome.ts';
import { isReasonCode } from '../call/reason.ts';
import type { ReadEntry } from './formats/v1/read-entry.ts';
import type { ReadEvent } from './unknown-event.ts';
import type { VerifyProblemKind } from './verify-problem.ts';
import { isKnownEvent } from './formats/v1/event-table.ts';
import { toCommand } from './to-command.ts';

export type ReportProblem = (kind: VerifyProblemKind, message: string) => void;

/** Knowledge about a call: everything while it is open, a few bits once it is settled. */
export type CallTrack = OpenTrack | number;

type OpenTrack = {
  version: number;
  call: Call | undefined;
  readonly events: CallEvent[];
  /** It has events this version does not know, so its order cannot be judged. */
  foreign: boolean;
};

export const newTrack = (): CallTrack => ({ version: 0, call: undefined, events: [], foreign: false });

export const isOpen = (track: CallTrack): boolean => typeof track !== 'number';

/** Processes one entry about the call, and returns the updated track. */
export function trackEntry(track: CallTrack, entry: ReadEntry, report: ReportProblem): CallTrack {
  let next = checkVersion(track, entry, report);
  for (const event of entry.events) {
    if (!('callId' in event) || event.callId !== entry.callId) continue;
    // A remark of the host, which no rule about the order of a call's events covers.
    if (isEmittedEvent(event)) continue;
    next = isJudgeable(event) ? trackEvent(next, event, entry.erased, report) : withForeign(next);
  }
  return next;
}

/** Reports problems with a call that is still open at the end. */
export function endTrack(track: CallTrack, report: ReportProblem): void {
  if (typeof track !== 'number' && !track.foreign) checkAudit(track.events, false, report);
}

function checkVersion(track: CallTrack, entry: ReadEntry, report: ReportProblem): CallTrack {
  const version = versionOf(track);
  const { expectedVersion } = entry;
  if (expectedVersion === 'any') {
    if (version === 0) report('version', `Call ${name(entry)} has a remark before it was requested.`);
    return track;
  }
  if (expectedVersion !== version)
    report(
      'version',
      `Call ${name(entry)} has version ${version}; the entry was written for ${expectedVersion}.`,
    );
  return withVersion(track, expectedVersion + 1);
}

/** Does this version know the type of the event, and every word in it that its rules need? */
const isJudgeable = (event: ReadEvent): event is CallEvent =>
  isKnownEvent(event) &&
  (event.type !== 'tool.responded' ||
    (isOutcomeType(event.outcome.type) &&
      (!('code' in event.outcome) || isReasonCode(event.outcome.code)) &&
      (!('reason' in event.outcome) || isDenialReason(event.outcome.reason))));

const name = ({ callId }: ReadEntry): string => JSON.stringify(callId);

function trackEvent(track: CallTrack, event: CallEvent, erased: boolean, report: ReportProblem): CallTrack {
  if (event.type === 'tool.responded' && !erased) checkContent(event, report);
  if (typeof track === 'number') return trackSettled(track, event, report);
  const { call } = track;
  track.events.push(event);
  if (!track.foreign) checkOrder(call, event, report);
  if (call === undefined && event.type !== 'tool.requested') return withForeign(track); // already reported
  track.call = evolve(call, event);
  if (track.call.status !== 'settled') return track;
  const kind = track.foreign ? 0 : checkAudit(track.events, true, report);
  return (
    track.version * bits +
    kind +
    (track.call.attempt > 0 ? ran : 0) +
    (track.call.settled?.unsettledEffect === true ? unsettled : 0) +
    (isSuccess(event) ? succeeded : 0) +
    (track.foreign ? foreign : 0)
  );
}

/**
 * Events after an outcome: a late result, a recall, a resolution, an undo. None of them changes how the call ended.
 */
function trackSettled(track: number, event: CallEvent, report: ReportProblem): number {
  if ((track & foreign) !== 0) return track;
  checkOrder(settledCall(track), event, report);
  const kind = endKinds[track & kindBits] ?? 'completed';
  const follows =
    event.type === 'persistence.failed'
      ? 'persistence_failed'
      : event.type === 'tool.recalled' && isAuditKind(event.how)
        ? event.how
        : undefined;
  const check = follows === undefined ? undefined : checkAuditOrder([kind, follows]);
  if (check?.ok === false) report('audit', check.message);
  if (event.type === 'tool.resolved')
    return track | resolved | (event.resolution === 'succeeded' ? succeeded : 0);
  return event.type === 'tool.undone' ? track | undone : track;
}

const isSuccess = (event: CallEvent): boolean =>
  event.type === 'tool.responded' &&
  (event.outcome.type === 'ToolExecutionResult' || event.outcome.type === 'ToolArtifactReference');

function checkOrder(call: Call | undefined, event: CallEvent, report: ReportProblem): void {
  const subject = { ...event, nextId: () => event.id } satisfies Subject;
  const decision = decide(asJudgedThen(call, event), toCommand(event), subject);
  if (!decision.ok) report('order', `${event.type} (${event.id}): ${decision.refusal}`);
  const attempt = (call?.attempt ?? 0) + (event.type === 'tool.started' ? 1 : 0);
  if ((event.type === 'tool.started' || event.type === 'tool.responded') && event.attempt !== attempt)
    report('order', `${event.type} (${event.id}) is about attempt ${event.attempt}, but ${attempt} is next.`);
}

/** Before `retry.requested` existed, the next attempt began without a recorded request. */
const asJudgedThen = (call: Call | undefined, { type }: CallEvent): Call | undefined =>
  type === 'tool.started' && call?.failed !== undefined ? { ...call, failed: undefined } : call;

/** Checks the records and returns which of `endKinds` settled the call. */
function checkAudit(events: readonly CallEvent[], settled: boolean, report: ReportProblem): number {
  const kinds = kindsOf(events, report);
  const check = checkAuditOrder(kinds, { settled });
  if (!check.ok) report('audit', check.message);
  return Math.max(0, endKinds.indexOf(kinds.at(-1) ?? ''));
}

/** A changed ledger may contain outcomes that no version ever wrote: they are a finding, not a crash. */
function kindsOf(events: readonly CallEvent[], report: ReportProblem): readonly string[] {
  try {
    return projectAudit(events).map(({ outcome }) => outcome.kind);
  } catch {
    report('audit', 'The outcome of the call is impossible: no audit record can be derived from it.');
    return [];
  }
}

function checkContent(event: CallEvent & { type: 'tool.responded' }, report: ReportProblem): void {
  if (event.content !== outcomeToModelContent(event.outcome))
    report('content', `The model content (${event.id}) does not match the outcome.`);
}

/** The bits of a settled call, below its version. */
const endKinds: readonly string[] = ['completed', 'blocked', 'invalidated', 'cached'];
const kindBits = 3;
const ran = 4;
const unsettled = 8;
const resolved = 16;
const foreign = 32;
/** It succeeded, by its outcome or by a later resolution. */
const succeeded = 64;
const undone = 128;
const bits = 256;

const versionOf = (track: CallTrack): number =>
  typeof track === 'number' ? Math.floor(track / bits) : track.version;

function withVersion(track: CallTrack, version: number): CallTrack {
  if (typeof track === 'number') return version * bits + (track % bits);
  track.version = version;
  return track;
}

function withForeign(track: CallTrack): CallTrack {
  if (typeof track === 'number') return track | foreign;
  track.foreign = true;
  return track;
}

const unknownPerson = { type: 'gate', name: 'somebody' } as const;

/** A call with everything that the rules need of a settled one. */
const settledCall = (track: number): Call =>
  ({
    status: 'settled',
    attempt: (track & ran) === 0 ? 0 : 1,
    settled: {
      unsettledEffect: (track & unsettled) !== 0,
      outcome: { type: (track & succeeded) === 0 ? 'ToolFailure' : 'ToolExecutionResult' },
    },
    resolution: (track & resolved) === 0 ? undefined : { resolution: 'before', by: unknownPerson },
    undone: (track & undone) === 0 ? undefined : { by: unknownPerson },
  }) as unknown as Call;

/** Checks that an event belongs to its entry. */
export function checkEventPosition(event: ReadEvent, entry: ReadEntry, report: ReportProblem): void {
  if (event.sessionId !== entry.sessionId)
    report(
      'session',
      `Event ${event.id} says that it belongs to session ${JSON.stringify(event.sessionId)}.`,
    );
  if ('callId' in event && event.callId !== undefined && event.callId !== entry.callId)
    report('session', `Event ${event.id} says that it belongs to call ${JSON.stringify(event.callId)}.`);
}
