/** Requests that were not accepted: the ledger has no such call, only an event with the cause. */
import type { CallNotAccepted } from '../call/event.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { readRefusals } from '../ledger/read-refusals.ts';

/** Without a session, only this many of the newest entries are searched, because no table lists these events. */
const mostLookedAt = 100_000;
const readAtOnce = 500;

export async function findRefusals(
  ledger: Ledger,
  callId: string,
  sessionId: string | undefined,
): Promise<readonly CallNotAccepted[]> {
  if (sessionId !== undefined) return readRefusals(ledger, { sessionId, callId });
  const until = await ledger.entries.lastPosition();
  const named = `"refused_call":${JSON.stringify(callId)}`;
  const found: CallNotAccepted[] = [];
  let after = Math.max(0, until - mostLookedAt);
  for (;;) {
    const entries = await ledger.entries.read({
      after,
      limit: readAtOnce,
      about: { until, texts: [named, named] },
    });
    for (const entry of entries)
      for (const event of readEntry(entry).events)
        if (isKnownEvent(event) && event.type === 'call.not_accepted' && event.refusedCallId === callId)
          found.push(event);
    const last = entries.at(-1);
    if (last === undefined || entries.length < readAtOnce) return found;
    after = last.position;
  }
}
