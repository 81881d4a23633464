/**
 * Checks a ledger as it is read, entry by entry. Nothing may have been changed, removed, added or moved. Its events must
 * be possible, and the model content must match the stored outcomes.
 *
 * 1. Problems are data. After a problem, checking continues from the entry found, so that one change is one problem.
 * 2. Memory: a hash per session, a number per settled call, and the events of open calls.
 */
import { isQuittanceError } from '../base/error.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import type { Anchor } from './anchor.ts';
import type { Head } from './chain.ts';
import { chainHash, genesisHash, bodiesDigest } from './chain.ts';
import { isKnownEvent } from './formats/v1/event-table.ts';
import type { ReadEntry } from './formats/v1/read-entry.ts';
import { readEntry } from './formats/v1/read-entry.ts';
import { ledgerSessionId } from './ledger.ts';
import type { StoredEntry } from './stored-entry.ts';
import type { Call } from '../call/call.ts';
import type { CallEvent } from '../call/event.ts';
import type { Subject, Command } from '../call/decide.ts';
import { decide } from '../call/decide.ts';
import { isAuditKind } from '../call/audit.ts';
import { checkAuditOrder } from '../call/audit-order.ts';
import { projectAudit } from '../call/audit-projection.ts';
import { evolve } from '../call/evolve.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import { isDenialReason, isOutcomeType } from '../call/outcome.ts';
import { isReasonCode } from '../call/reason.ts';
import type { ReadEvent } from './unknown-event.ts';

export type VerifierOptions = {
  /** The ends of the chains at some earlier time. */
  readonly anchor?: Anchor | undefined;
  /** The end of each chain according to the ledger or the export: all of its sessions. */
  readonly heads?: Iterable<Head> | undefined;
  /** Entries come session by session, so that a session can be forgotten when the next one begins. */
  readonly bySession?: boolean | undefined;
  /** Called for every readable entry, valid or not. */
  readonly onEntry?: ((entry: ReadEntry, position: number) => void) | undefined;
};

type Verifier = {
  /** Checks the next entry. Entries of one session must come in order of sequence; sessions may be interleaved. */
  add(entry: StoredEntry): readonly VerifyProblem[];
  /** Problems that can be found only at the end. */
  end(): readonly VerifyProblem[];
  readonly totals: VerifyTotals;
};

export type VerifyTotals = {
  readonly sessions: number;
  readonly entries: number;
  readonly calls: number;
  readonly openCalls: number;
  /** Entries whose bodies were erased. */
  readonly erased: number;
  /** Events of unknown types: kept and chained, but not judged. */
  readonly unknownEvents: number;
  readonly problems: number;
};

type SessionTrack = {
  head: Head;
  /** Undefined once the next session has begun. */
  calls: Map<string, CallTrack> | undefined;
  /** Entries without bodies that no event has named yet. */
  readonly missing: Map<string, EntryPosition>;
  readonly erasures: Set<string>;
  firstAt: number | undefined;
  followedAt: number | undefined;
  lateRequest: EntryPosition | undefined;
  isRemoved: boolean;
  differsFromAnchor: EntryPosition | undefined;
};

type RemovalTrack = Omit<Removal, 'earliestSince'> & { earliestSince: number };

export const createVerifier = (options: VerifierOptions = {}): Verifier => new LedgerVerifier(options);

class LedgerVerifier implements Verifier {
  readonly totals = {
    sessions: 0,
    entries: 0,
    calls: 0,
    openCalls: 0,
    erased: 0,
    unknownEvents: 0,
    problems: 0,
  };
  readonly #options: VerifierOptions;
  readonly #sessions = new Map<string, SessionTrack>();
  readonly #anchored: ReadonlyMap<string, Head>;
  readonly #heads: ReadonlyMap<string, Head> | undefined;
  /** In the order in which they were read. */
  readonly #removals: RemovalTrack[] = [];
  readonly #removalsOf = new Map<string, RemovalTrack[]>();
  #current: string | undefined;
  #found: VerifyProblem[] = [];

  constructor(options: VerifierOptions) {
    this.#options = options;
    this.#anchored = new Map(options.anchor?.heads.map((head) => [head.sessionId, head]));
    this.#heads = options.heads && new Map([...options.heads].map((head) => [head.sessionId, head]));
  }

  add(stored: StoredEntry): readonly VerifyProblem[] {
    this.totals.entries++;
    const { sessionId } = stored;
    const { bySession, onEntry } = this.#options;
    const current = this.#current;
    if (bySession === true && current !== undefined && current !== sessionId)
      this.#close(this.#open(current));
    this.#current = sessionId;
    const session = this.#open(sessionId);
    try {
      this.#link(session, stored);
      const entry = readEntry(stored);
      onEntry?.(entry, stored.position);
      this.#checkBodies(session, stored, entry);
      this.#judge(session, stored, entry);
    } catch (error) {
      // Any problem with the entry is a finding, even if nothing can be read.
      const kind = isQuittanceError(error, 'ledger.newer') ? 'newer' : 'text';
      this.#say(sessionId, stored, kind, error instanceof Error ? error.message : 'It cannot be read.');
    }
    return this.#taken();
  }

  end(): readonly VerifyProblem[] {
    for (const session of this.#sessions.values()) this.#close(session);
    const ends = { sessions: this.#sessions, dropped: this.#dropped(), say: this.#say };
    compareWithRemovals(ends);
    if (this.#options.anchor) compareWithAnchor(this.#options.anchor, ends);
    if (this.#heads) compareWithHeads(this.#heads, ends);
    return this.#taken();
  }

  readonly #say = (
    sessionId: string,
    place: EntryPosition | undefined,
    kind: VerifyProblemKind,
    message: string,
  ): void => {
    this.totals.problems++;
    this.#found.push({ sessionId, sequence: place?.sequence, position: place?.position, kind, message });
  };

  #taken(): readonly VerifyProblem[] {
    const problems = this.#found;
    this.#found = [];
    return problems;
  }

  #open(sessionId: string): SessionTrack {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const session: SessionTrack = {
      head: { sessionId, sequence: 0, hash: genesisHash(sessionId) },
      calls: new Map(),
      missing: new Map(),
      erasures: new Set<string>(),
      firstAt: undefined,
      followedAt: undefined,
      lateRequest: undefined,
      isRemoved: false,
      differsFromAnchor: undefined,
    };
    this.#sessions.set(sessionId, session);
    this.totals.sessions++;
    return session;
  }

  /** Forgets the calls of a finished session, after a last check of its open ones. */
  #close(session: SessionTrack): void {
    const { head, calls, missing } = session;
    for (const track of calls?.values() ?? []) {
      this.totals.calls++;
      if (isOpen(track)) this.totals.openCalls++;
      endTrack(track, (kind, message) => this.#say(head.sessionId, undefined, kind, message));
    }
    for (const place of missing.values())
      this.#say(
        head.sessionId,
        place,
        'bodies',
        'The bodies are missing, and no later entry records an erasure.',
      );
    missing.clear();
    session.calls = undefined;
  }

  #link(session: SessionTrack, entry: StoredEntry): void {
    const { sessionId, sequence, text, hash } = entry;
    const due = session.head.sequence + 1;
    if (sequence !== due)
      this.#say(
        sessionId,
        entry,
        'sequence',
        sequence > due
          ? `Expected entry ${due}, found ${sequence}: ${sequence - due} missing.`
          : `Expected entry ${due}, found ${sequence}, which was read before.`,
      );
    // Only well-formed text has its own bytes: in other text the hash covers the replacement of a lone surrogate.
    else if (!text.isWellFormed() || chainHash(session.head.hash, sequence, text) !== hash)
      this.#say(sessionId, entry, 'chain', 'The hash does not match this text and the previous entry.');
    const anchor = this.#anchored.get(sessionId);
    if (anchor?.sequence === sequence && anchor.hash !== hash) session.differsFromAnchor = entry;
    session.head = { sessionId, sequence, hash };
    const removals = this.#removalsOf.get(sessionId);
    if (removals?.some((removal) => isSameEnd(removal, session.head)) === true) session.isRemoved = true;
  }

  #checkBodies(session: SessionTrack, stored: StoredEntry, entry: ReadEntry): void {
    const { bodies, salt, sessionId } = stored;
    if (entry.erased) {
      this.totals.erased++;
      if (!session.erasures.has(entry.entryId)) session.missing.set(entry.entryId, stored);
      if (salt !== undefined)
        this.#say(sessionId, stored, 'bodies', 'The bodies are missing but their salt is not.');
    } else if (bodies === undefined || salt === undefined) {
      if (bodies !== salt || entry.bodiesDigest !== undefined)
        this.#say(sessionId, stored, 'bodies', 'There are bodies without a salt, or a salt without bodies.');
    } else if (!isDigestOf(entry.bodiesDigest, salt, bodies))
      this.#say(sessionId, stored, 'bodies', 'The bodies were changed.');
  }

  #judge(session: SessionTrack, stored: StoredEntry, entry: ReadEntry): void {
    const report = (kind: VerifyProblemKind, message: string): void =>
      this.#say(stored.sessionId, stored, kind, message);
    if (entry.sessionId !== stored.sessionId)
      report('session', `The entry claims to belong to session ${JSON.stringify(entry.sessionId)}.`);
    for (const event of entry.events) {
      checkEventPosition(event, entry, report);
      if (isEmittedEvent(event)) continue;
      if (!isKnownEvent(event)) this.totals.unknownEvents++;
      else if (event.type === 'body.erased')
        for (const entryId of event.entryIds) {
          session.erasures.add(entryId);
          session.missing.delete(entryId);
        }
      else if (event.type === 'session.dropped' && entry.sessionId === ledgerSessionId)
        this.#noteRemoval({ ...event, sessionId: event.droppedSessionId });
    }
    const at = entry.events.at(-1)?.at;
    session.firstAt ??= at;
    if (at !== undefined) this.#noteTime(stored.sessionId, at);
    const { callId, expectedVersion } = entry;
    if (callId !== undefined && expectedVersion !== 'any')
      this.#noteTimes(session, stored, entry, expectedVersion);
    if (callId === undefined || session.calls === undefined) return;
    session.calls.set(callId, trackEntry(session.calls.get(callId) ?? newTrack(), entry, report));
  }

  #noteRemoval(removal: Omit<Removal, 'earliestSince'>): void {
    const session = this.#sessions.get(removal.sessionId);
    // It was read before its removal, and should not be there.
    if (session !== undefined) session.isRemoved ||= isSameEnd(removal, session.head);
    const { sessionId, sequence, hash, at } = removal;
    const track = { sessionId, sequence, hash, at, earliestSince: Number.POSITIVE_INFINITY };
    this.#removals.push(track);
    this.#removalsOf.set(sessionId, [...(this.#removalsOf.get(sessionId) ?? []), track]);
  }

  /** Session by session, entries do not come in the order of time. */
  #noteTime(sessionId: string, at: number): void {
    const last = this.#removals.at(-1);
    if (last === undefined || this.#options.bySession === true) return;
    if (!this.#removalsOf.has(sessionId)) last.earliestSince = Math.min(last.earliestSince, at);
  }

  /** The last removal of each session. */
  #dropped(): ReadonlyMap<string, Removal> {
    let earliestSince = Number.POSITIVE_INFINITY;
    const later = this.#removals.toReversed().map((removal) => {
      earliestSince = Math.min(earliestSince, removal.earliestSince);
      return [removal.sessionId, { ...removal, earliestSince }] as const;
    });
    return new Map(later.toReversed());
  }

  /** Times that tell whether a part of the session is older than its place in the ledger. */
  #noteTimes(session: SessionTrack, stored: StoredEntry, { events }: ReadEntry, version: number): void {
    const at = events.at(-1)?.at;
    if (at === undefined) return;
    const { anchor } = this.#options;
    if (version > 0) session.followedAt ??= at;
    else if (anchor !== undefined && isRequestedBefore(anchor, at)) {
      const anchored = this.#anchored.get(stored.sessionId);
      if (anchored !== undefined && stored.sequence > anchored.sequence) session.lateRequest ??= stored;
    }
  }
}

const isSameEnd = (one: Head, other: Head): boolean =>
  one.sessionId === other.sessionId && one.sequence === other.sequence && one.hash === other.hash;

/** Only a salt with valid characters: another could include the start of the bodies. */
const isDigestOf = (digest: string | undefined, salt: string, bodies: string): boolean =>
  /^[\w-]+$/.test(salt) && bodies.isWellFormed() && digest === bodiesDigest(salt, bodies);

/** The final state of a session, for the checks at the end: that every chain is present and ends at its head. */
type SessionEnd = {
  readonly head: Head;
  /** Time of its first entry, if that could be read. */
  readonly firstAt: number | undefined;
  /** Time of the first entry that follows another one of its call: that one was stored by then. */
  readonly followedAt: number | undefined;
  /** A call after the end that the anchor states, which claims to be older than the anchor. */
  readonly lateRequest: EntryPosition | undefined;
  /** True if its chain passes through the end that its removal states. */
  readonly isRemoved: boolean;
  /** The entry at the anchor's sequence, if its hash differs. */
  readonly differsFromAnchor: EntryPosition | undefined;
};
type EntryPosition = { readonly sequence: number; readonly position: number };

/** The end of a removed session, and the time of its removal. */
type Removal = Head & {
  readonly at: number;
  /** The earliest time among later entries of sessions that were never removed. It shows a clock that was set back. */
  readonly earliestSince: number;
};

type ChainEnds = {
  readonly sessions: ReadonlyMap<string, SessionEnd>;
  /** Removed sessions, according to the ledger's own chain. */
  readonly dropped: ReadonlyMap<string, Removal>;
  readonly say: (
    sessionId: string,
    place: EntryPosition | undefined,
    kind: VerifyProblemKind,
    message: string,
  ) => void;
};

/**
 * The longest time between an event and its commit: an event that an anchor missed because of it is not a forgery.
 */
const slowestCommitMs = 60_000;
/** Maximum difference between the clocks of two processes of one ledger. */
const clockSkewMs = 500;

/** True if the time between this request and its commit was longer than any commit takes. */
const isRequestedBefore = (anchor: Anchor, at: number): boolean => at < anchor.at - slowestCommitMs;

/**
 * True if a part of the session was stored before this time. The first event of a session may be older than its commit. The
 * second entry of a call is made after the first one was stored.
 */
const isStoredBefore = (at: number, { firstAt = at, followedAt = at }: SessionEnd): boolean =>
  firstAt < at - slowestCommitMs || followedAt < at - clockSkewMs;

/**
 * A removed session may begin again, without entries from before its removal. Those have the same chain, or older times that
 * no other session has since.
 */
function compareWithRemovals({ sessions, dropped, say }: ChainEnds): void {
  for (const [sessionId, { at, earliestSince }] of dropped) {
    const session = sessions.get(sessionId);
    if (session === undefined) continue;
    const { firstAt = at, followedAt = at, isRemoved } = session;
    const isOlder = Math.min(firstAt, followedAt) < Math.min(at, earliestSince) - slowestCommitMs;
    if (isRemoved || isOlder)
      say(
        sessionId,
        undefined,
        'head',
        'The session was removed, and entries from before its removal are there again. They come from a backup or another ledger, or the clock was set back. Restore a backup that was made after the removal: quittance restore.',
      );
  }
}

function compareWithAnchor({ at, heads }: Anchor, { sessions, dropped, say }: ChainEnds): void {
  for (const head of heads) {
    const { sessionId } = head;
    // A session of that name may have begun again since.
    if (passesThrough(dropped.get(sessionId), head)) continue;
    const session = sessions.get(sessionId);
    const sequence = session?.head.sequence;
    if (session?.differsFromAnchor !== undefined)
      say(
        sessionId,
        session.differsFromAnchor,
        'anchor',
        "The hash differs from the anchor's: the chain was recomputed.",
      );
    else if (sequence === undefined)
      say(sessionId, undefined, 'anchor', `The session is missing: it had ${head.sequence} entries.`);
    else if (sequence < head.sequence)
      say(
        sessionId,
        undefined,
        'anchor',
        `The chain was cut: it ends at ${sequence}, but had ${head.sequence} entries.`,
      );
    else if (session?.lateRequest !== undefined)
      say(
        sessionId,
        session.lateRequest,
        'anchor',
        'The call claims to be older than the anchor, but comes after the end that the anchor states: it was added later.',
      );
  }
  const known = new Set(heads.map(({ sessionId }) => sessionId));
  for (const [sessionId, session] of sessions)
    if (!known.has(sessionId) && isStoredBefore(at, session))
      say(
        sessionId,
        undefined,
        'anchor',
        'The session claims to have begun before the anchor, but the anchor does not list it: it was added later, for example from another ledger.',
      );
}

/** Compares with a list that claims to contain every session. */
function compareWithHeads(heads: ReadonlyMap<string, Head>, { sessions, say }: ChainEnds): void {
  for (const [sessionId, head] of heads) {
    const last = sessions.get(sessionId)?.head;
    if (last?.sequence === head.sequence && last.hash === head.hash) continue;
    const message = `The chain ends at ${last?.sequence ?? 0}, but its head is at ${head.sequence}.`;
    say(sessionId, undefined, 'head', message);
  }
  for (const sessionId of sessions.keys())
    if (!heads.has(sessionId)) say(sessionId, undefined, 'head', 'There are entries of an unlisted session.');
}

/** True if a chain that ended here may have had that head before. */
const passesThrough = (end: Head | undefined, head: Head): boolean =>
  end !== undefined &&
  (end.sequence > head.sequence || (end.sequence === head.sequence && end.hash === head.hash));

/**
 * Checks that the events of one call could have happened, by the rules that allowed them.
 *
 * An open call keeps its events here. A settled one keeps a few bits: a ledger may have millions of them, and the
 * bits are enough to judge everything that may follow.
 */

type ReportProblem = (kind: VerifyProblemKind, message: string) => void;

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

/** True if this version knows the type of the event, and every value in it that its rules need. */
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

/** The command that causes an event, so that a past decision can be judged again. */
function toCommand(event: CallEvent): Command {
  switch (event.type) {
    case 'tool.requested':
      return { ...event, type: 'request' };
    case 'tool.decided':
      return { ...event, type: 'rule' };
    case 'tool.held':
      return { ...event, type: 'hold' };
    case 'confirmation.decided':
      return { ...event, type: 'answer' };
    case 'confirmation.voted':
      return { ...event, type: 'vote' };
    case 'confirmation.reminded':
      return { ...event, type: 'remind' };
    case 'tool.previewed':
      return { ...event, type: 'preview' };
    case 'confirmation.expired':
      return { ...event, type: 'expire' };
    case 'tool.reported':
      return { ...event, type: 'report' };
    case 'tool.undone':
      return { ...event, type: 'undo' };
    case 'confirmation.withdrawn':
      return { ...event, type: 'withdraw' };
    case 'runtime.budget_exhausted':
      return { ...event, type: 'exhaust' };
    case 'tool.taken_over':
      return { ...event, type: 'take_over' };
    case 'tool.started':
      return { ...event, type: 'start' };
    case 'tool.responded':
      // Whether the tool allowed a rerun is not stored; no rule about the order needs it.
      return { ...event, type: 'respond', mayRerun: false, repeatIsSafe: false };
    case 'retry.requested':
      return { ...event, type: 'try_again' };
    case 'tool.late':
      return { ...event, type: 'add_late' };
    case 'tool.resolved':
      return { ...event, type: 'resolve' };
    case 'persistence.failed':
      return { ...event, type: 'fail_to_persist' };
    case 'tool.recalled':
      return { ...event, type: 'recall' };
  }
}

/** A part of a ledger that was changed after it was written, or could not have been written so. */
export type VerifyProblem = {
  readonly sessionId: string;
  /** The entry within the session; undefined for a problem of the whole session. */
  readonly sequence: number | undefined;
  /** Position in the store that was read. */
  readonly position: number | undefined;
  readonly kind: VerifyProblemKind;
  /** Says what was found and what was expected. Quotes identifiers, never payloads. */
  readonly message: string;
};

export type VerifyProblemKind =
  | 'sequence'
  | 'chain'
  | 'text'
  | 'newer'
  | 'session'
  | 'bodies'
  | 'version'
  | 'order'
  | 'audit'
  | 'content'
  | 'claim'
  | 'limit'
  | 'head'
  | 'anchor';

/** Every kind of problem, and its meaning. */
export const verifyProblemKinds: { readonly [Kind in VerifyProblemKind]: string } = {
  sequence: 'An entry is missing, occurs twice or is in the wrong place.',
  chain: 'The hash of an entry does not match its text and the previous entry.',
  text: 'The text of an entry cannot be read.',
  newer: 'The entry has a newer format: its chain is valid, but its content could not be checked.',
  session: 'An entry or an event claims to belong to another session or another call.',
  bodies: 'The bodies of an entry were changed, or are missing without an erasure.',
  version: 'The versions of a call do not follow each other.',
  order: 'An event could not have followed the events before it.',
  audit: 'The audit records of a call are not in a legal order.',
  content: 'The model content does not match the outcome.',
  claim: 'Two calls began under one idempotency key, and no entry between them released it.',
  limit: 'An entry took more of a budget than was left, or states a total that does not match the entries.',
  head: 'The chain of a session does not end where its ledger says.',
  anchor: 'The chain of a session does not include its anchor: it was recomputed, cut or dropped.',
};
