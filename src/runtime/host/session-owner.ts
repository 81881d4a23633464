/**
 * The owner of a session: the principal of its first turn, and the program that made its first call. A session that
 * another one opened, or that was forked from it, belongs to the owner of that one too.
 */
import type { DirectIdentity } from '../../call/event.ts';
import type { ToolRequested } from '../../call/events/gate-event.ts';
import type { SessionForked, TurnOpened } from '../../call/events/session-event.ts';
import { directOf, namesOf } from '../../call/same-identity.ts';
import { isKnownEvent } from '../../ledger/formats/v1/event-table.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Askers } from './separate-duties.ts';
import { principalNames } from './separate-duties.ts';

/** With more sessions behind it, the owner of a session is unknown. */
const mostSessions = 20;
/** The first turn and the first call are among so many entries, after a fork or a grant. */
const firstEntries = 20;

export async function sessionOwners(
  { entries }: Pick<Ledger, 'entries'>,
  sessionId: string,
): Promise<Askers> {
  const names: string[] = [];
  const identities: DirectIdentity[] = [];
  const sessions = new Set([sessionId]);
  // The set grows while it is read.
  for (const session of sessions) {
    if (sessions.size > mostSessions) return { names: [], identities: [] };
    const { turn, request, fork } = firstEvents(
      await entries.read({ sessionId: session, limit: firstEntries }),
    );
    names.push(...principalNames(turn?.principal));
    if (request?.askedBy !== undefined) {
      names.push(...namesOf(request.askedBy));
      identities.push(...directOf(request.askedBy));
    }
    for (const from of [turn?.parentSessionId, fork?.fromSessionId])
      if (from !== undefined) sessions.add(from);
  }
  return { names, identities };
}

type FirstEvents = {
  readonly turn: TurnOpened | undefined;
  readonly request: ToolRequested | undefined;
  readonly fork: SessionForked | undefined;
};

function firstEvents(entries: readonly StoredEntry[]): FirstEvents {
  let found: FirstEvents = { turn: undefined, request: undefined, fork: undefined };
  for (const entry of entries) {
    for (const event of readEntry(entry).events) {
      if (!isKnownEvent(event)) continue;
      if (event.type === 'turn.opened') found = { ...found, turn: found.turn ?? event };
      if (event.type === 'tool.requested') found = { ...found, request: found.request ?? event };
      if (event.type === 'session.forked') found = { ...found, fork: found.fork ?? event };
    }
    if (found.turn !== undefined && found.request !== undefined) break;
  }
  return found;
}
