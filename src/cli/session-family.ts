/** A session and its sub-sessions, which name their parent when they begin. */
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { readPages } from '../ledger/read-pages.ts';
import type { ReadEvent } from '../ledger/unknown-event.ts';
import type { SessionQuery, SessionSummary } from '../ledger/call-query.ts';

/** Most sessions to search for sub-sessions, because no table lists them. */
const mostLookedAt = 5_000;

export type Family = {
  readonly sessionIds: readonly string[];
  /** Were there more sessions than were searched? */
  readonly isCut: boolean;
};

/** The summary of the session, if it exists. */
export async function findSession(ledger: Ledger, sessionId: string): Promise<SessionSummary | undefined> {
  const pages = readPages<SessionSummary, SessionQuery>(
    (query) => ledger.queries.findSessions(query),
    { text: sessionId },
    Number.POSITIVE_INFINITY,
    new AbortController().signal,
  );
  for await (const { rows } of pages) {
    const found = rows.find((row) => row.sessionId === sessionId);
    if (found !== undefined) return found;
  }
  return undefined;
}

export async function findSessionFamily(
  ledger: Ledger,
  { sessionId, firstAt }: SessionSummary,
  signal: AbortSignal,
): Promise<Family> {
  const children = new Map<string, string[]>();
  let next: string | undefined;
  const pages = readPages<SessionSummary, SessionQuery>(
    (query) => ledger.queries.findSessions(query),
    { since: firstAt },
    mostLookedAt,
    signal,
  );
  for await (const page of pages) {
    ({ next } = page);
    for (const row of page.rows) {
      const parent = await parentOf(ledger, row.sessionId);
      if (parent !== undefined) children.set(parent, [row.sessionId, ...(children.get(parent) ?? [])]);
    }
  }
  const family = new Set([sessionId]);
  // Iterating a set includes the elements added meanwhile.
  for (const id of family) for (const child of children.get(id) ?? []) family.add(child);
  return { sessionIds: [...family], isCut: next !== undefined };
}

async function parentOf(ledger: Ledger, sessionId: string): Promise<string | undefined> {
  const first = await firstEventOf(ledger, sessionId);
  if (first === undefined || !isKnownEvent(first)) return undefined;
  if (first.type === 'session.forked') return first.fromSessionId;
  return first.type === 'turn.opened' ? first.parentSessionId : undefined;
}

/** The first event of a session. Failed requests may be recorded before the session begins. */
async function firstEventOf(ledger: Ledger, sessionId: string): Promise<ReadEvent | undefined> {
  let after = 0;
  for (;;) {
    const [entry] = await ledger.entries.read({ sessionId, after, limit: 1 });
    if (entry === undefined) return undefined;
    const first = readEntry(entry).events.find(({ type }) => type !== 'call.not_accepted');
    if (first !== undefined) return first;
    after = entry.position;
  }
}
