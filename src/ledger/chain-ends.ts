/** Checks that are possible only at the end: is every chain present, and does it end where it should? */
import type { Anchor } from './anchor.ts';
import type { Head } from './chain.ts';
import type { VerifyProblemKind } from './verify-problem.ts';

/** The final state of a session. */
export type SessionEnd = {
  readonly head: Head;
  /** Time of its first entry, if that could be read. */
  readonly firstAt: number | undefined;
  /** Time of the first entry that follows another one of its call: that one was stored by then. */
  readonly followedAt: number | undefined;
  /** A call after the end that the anchor states, which claims to be older than the anchor. */
  readonly lateRequest: EntryPosition | undefined;
  /** The entry at the anchor's sequence, if its hash differs. */
  readonly differsFromAnchor: EntryPosition | undefined;
};
export type EntryPosition = { readonly sequence: number; readonly position: number };

/** The end of a removed session, and the time of its removal. */
export type Removal = Head & { readonly at: number };

export type ChainEnds = {
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
/** The most by which two processes may read the clock of one ledger differently. */
const clockSkewMs = 500;

/** Was this request on its way for longer than any commit takes? */
export const isRequestedBefore = (anchor: Anchor, at: number): boolean => at < anchor.at - slowestCommitMs;

/**
 * Was a part of the session stored before this time? The first event of a session may be on its way to its commit. The second
 * entry of a call is made after the first one was stored.
 */
const isStoredBefore = (at: number, { firstAt = at, followedAt = at }: SessionEnd): boolean =>
  firstAt < at - slowestCommitMs || followedAt < at - clockSkewMs;

/** A removed session may begin again. It must not have entries from before its removal. */
export function compareWithRemovals({ sessions, dropped, say }: ChainEnds): void {
  for (const [sessionId, { at }] of dropped) {
    const session = sessions.get(sessionId);
    if (session !== undefined && isStoredBefore(at, session))
      say(
        sessionId,
        undefined,
        'head',
        'The session was removed, and entries from before its removal are there again: they come from a backup or another ledger. Restore a backup that was made after the removal: quittance restore.',
      );
  }
}

export function compareWithAnchor({ at, heads }: Anchor, { sessions, dropped, say }: ChainEnds): void {
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
export function compareWithHeads(heads: ReadonlyMap<string, Head>, { sessions, say }: ChainEnds): void {
  for (const [sessionId, head] of heads) {
    const last = sessions.get(sessionId)?.head;
    if (last?.sequence === head.sequence && last.hash === head.hash) continue;
    const message = `The chain ends at ${last?.sequence ?? 0}, but its head is at ${head.sequence}.`;
    say(sessionId, undefined, 'head', message);
  }
  for (const sessionId of sessions.keys())
    if (!heads.has(sessionId)) say(sessionId, undefined, 'head', 'There are entries of an unlisted session.');
}

/** May a chain that ended here have had that head before? */
const passesThrough = (end: Head | undefined, head: Head): boolean =>
  end !== undefined &&
  (end.sequence > head.sequence || (end.sequence === head.sequence && end.hash === head.hash));
