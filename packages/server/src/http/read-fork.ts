/** Reads what a fork needs: the calls of a session from one call on, oldest first. */
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { isKnownEvent } from 'quittance/internal/ledger/formats/v1/event-table';
import { readEntry } from 'quittance/internal/ledger/formats/v1/read-entry';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { SessionFork } from 'quittance/internal/replay/fork-session';
import type { RepeatableCall } from 'quittance/internal/replay/repeat-calls';
import { toRepeatable } from 'quittance/internal/replay/repeat-calls';
import type { BoundedReads, CallRef } from './bounded-reads.ts';
import { HttpRefusal } from './problem.ts';
import { readNewestCalls } from './read-newest-calls.ts';

/** Most calls that one fork repeats. */
export const mostRepeated = 200;

export type ForkPlan = {
  /** Number of calls before the first one that is repeated. */
  readonly position: number;
  readonly calls: readonly RepeatableCall[];
};

export async function readForkPlan(reads: BoundedReads, { sessionId, callId }: CallRef): Promise<ForkPlan> {
  const found = await readNewestCalls(reads, sessionId, {
    most: mostRepeated,
    until: (row) => row.callId === callId,
  });
  if (found.end !== 'found') {
    await reads.needCall({ sessionId, callId });
    throw new HttpRefusal(
      'http.too_large',
      `More than ${mostRepeated} calls follow call ${JSON.stringify(callId.slice(0, 200))}, or they are too large. A fork repeats at most ${mostRepeated}. Choose a later call.`,
    );
  }
  const calls = found.calls.map(({ callId: id, stored }): RepeatableCall => {
    const call = stored && foldStored(stored);
    const repeatable = call && toRepeatable(call);
    if (repeatable !== undefined) return repeatable;
    throw new HttpRefusal(
      'http.bad_request',
      stored === undefined
        ? `Call ${JSON.stringify(id)} is too large to be repeated. Choose a later call.`
        : `The record hides a part of the arguments of call ${JSON.stringify(id)}, so it cannot be repeated. Choose a later call, or run single calls again.`,
      { callId: id },
    );
  });
  return { position: found.total - calls.length, calls };
}

/** The origin of a session, if it is a fork. Failed requests may be recorded before the session begins. */
export async function readOrigin(ledger: OpenLedger, sessionId: string): Promise<SessionFork | undefined> {
  for (const entry of await ledger.readEntries({ sessionId, after: 0, limit: 5 }))
    for (const event of readEntry(entry).events) {
      if (event.type === 'call.not_accepted') continue;
      if (!isKnownEvent(event) || event.type !== 'session.forked') return undefined;
      const { fromSessionId, atCallId, position, after } = event;
      return { fromSessionId, atCallId, position, after };
    }
  return undefined;
}
