/** What is known only when everything was read: whether every chain is there, and ends where it should. */
import type { Anchor } from './anchor.ts';
import type { Head } from './chain.ts';
import type { VerifyProblemKind } from './verify-problem.ts';

/** How a session ended up. */
export type SessionEnd = {
  readonly head: Head;
  /** When its first entry was made, if that could be read. */
  readonly firstAt: number | undefined;
  /** The entry that stands where the anchor has another one. */
  readonly differsFromAnchor: EntryPosition | undefined;
};
export type EntryPosition = { readonly sequence: number; readonly position: number };

export type ChainEnds = {
  readonly sessions: ReadonlyMap<string, SessionEnd>;
  /** Sessions that were removed, as the ledger's own chain has it. */
  readonly dropped: ReadonlyMap<string, Head>;
  readonly say: (
    sessionId: string,
    place: EntryPosition | undefined,
    kind: VerifyProblemKind,
    message: string,
  ) => void;
};

/** How long before its commit an event may have been made: what an anchor did not see is not a forgery for that. */
const slowestCommitMs = 60_000;

export function compareWithAnchor({ at, heads }: Anchor, { sessions, dropped, say }: ChainEnds): void {
  for (const head of heads) {
    const { sessionId } = head;
    // A session of that name may have begun anew since.
    if (passesThrough(dropped.get(sessionId), head)) continue;
    const session = sessions.get(sessionId);
    const sequence = session?.head.sequence;
    if (session?.differsFromAnchor !== undefined)
      say(
        sessionId,
        session.differsFromAnchor,
        'anchor',
        'The hash is another one than that of the anchor: the chain was computed anew.',
      );
    else if (sequence === undefined)
      say(sessionId, undefined, 'anchor', `The session is gone: it had ${head.sequence} entries.`);
    else if (sequence < head.sequence)
      say(
        sessionId,
        undefined,
        'anchor',
        `The chain was cut: it ends at ${sequence}, and had ${head.sequence} entries.`,
      );
  }
  const known = new Set(heads.map(({ sessionId }) => sessionId));
  for (const [sessionId, { firstAt = at }] of sessions)
    if (!known.has(sessionId) && firstAt < at - slowestCommitMs)
      say(
        sessionId,
        undefined,
        'anchor',
        'The session says that it began before the anchor, which does not know it.',
      );
}

/** Compares with what says of itself that it lists every session. */
export function compareWithHeads(heads: ReadonlyMap<string, Head>, { sessions, say }: ChainEnds): void {
  for (const [sessionId, head] of heads) {
    const last = sessions.get(sessionId)?.head;
    if (last?.sequence === head.sequence && last.hash === head.hash) continue;
    const message = `The chain ends at ${last?.sequence ?? 0}, and its head is at ${head.sequence}.`;
    say(sessionId, undefined, 'head', message);
  }
  for (const sessionId of sessions.keys())
    if (!heads.has(sessionId))
      say(sessionId, undefined, 'head', 'There are entries of a session that is not listed.');
}

/** Whether a chain that ended here may have had that head before. */
const passesThrough = (end: Head | undefined, head: Head): boolean =>
  end !== undefined &&
  (end.sequence > head.sequence || (end.sequence === head.sequence && end.hash === head.hash));
