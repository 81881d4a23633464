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
import { chainHash, genesisHash } from './chain.ts';
import { bodiesDigest } from './formats/v1/bodies-digest.ts';
import { isKnownEvent } from './formats/v1/event-table.ts';
import type { ReadEntry } from './formats/v1/read-entry.ts';
import { readEntry } from './formats/v1/read-entry.ts';
import { ledgerSessionId } from './ledger.ts';
import type { StoredEntry } from './stored-entry.ts';
import type { CallTrack } from './call-track.ts';
import { checkEventPosition, endTrack, isOpen, newTrack, trackEntry } from './call-track.ts';
import type { EntryPosition, Removal } from './chain-ends.ts';
import { compareWithAnchor, compareWithHeads, compareWithRemovals, isRequestedBefore } from './chain-ends.ts';
import type { VerifyProblem, VerifyProblemKind } from './verify-problem.ts';

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

export type Verifier = {
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
  differsFromAnchor: EntryPosition | undefined;
};

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
  readonly #dropped = new Map<string, Removal>();
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
      // Any problem with the entry is a finding, even that nothing can be read.
      const kind = isQuittanceError(error, 'ledger.newer') ? 'newer' : 'text';
      this.#say(sessionId, stored, kind, error instanceof Error ? error.message : 'It cannot be read.');
    }
    return this.#taken();
  }

  end(): readonly VerifyProblem[] {
    for (const session of this.#sessions.values()) this.#close(session);
    const ends = { sessions: this.#sessions, dropped: this.#dropped, say: this.#say };
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
        this.#dropped.set(event.droppedSessionId, { ...event, sessionId: event.droppedSessionId });
    }
    session.firstAt ??= entry.events.at(-1)?.at;
    const { callId, expectedVersion } = entry;
    if (callId !== undefined && expectedVersion !== 'any')
      this.#noteTimes(session, stored, entry, expectedVersion);
    if (callId === undefined || session.calls === undefined) return;
    session.calls.set(callId, trackEntry(session.calls.get(callId) ?? newTrack(), entry, report));
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

/** Only a salt with valid characters: another could include the start of the bodies. */
const isDigestOf = (digest: string | undefined, salt: string, bodies: string): boolean =>
  /^[\w-]+$/.test(salt) && bodies.isWellFormed() && digest === bodiesDigest(salt, bodies);
