import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type { Journal } from '../../ledger/journal.ts';
import { untilWoken } from '../../ledger/until-woken.ts';
import { measureJson } from './measure-json.ts';
import { allEvents } from './memory-session.ts';
import type { MemoryStore } from './memory-store.ts';

export function createMemoryJournal(store: MemoryStore): Journal {
  const { ownerId, sessions } = store;
  return {
    append: (entry) => store.append(entry),
    readCall(sessionId, callId) {
      const call = sessions.get(sessionId)?.calls.get(callId);
      if (call === undefined) return undefined;
      const { version, depth, claimKey } = call;
      return {
        version,
        events: frozen(allEvents(call)),
        ownerId,
        ...(depth !== undefined && depth > 0 && { depth }),
        ...(claimKey !== undefined && { claimKey }),
      };
    },
    measureCall(sessionId, callId) {
      const call = sessions.get(sessionId)?.calls.get(callId);
      return call === undefined ? 0 : measureJson(allEvents(call));
    },
    readSession: (sessionId, scope) => {
      const session = sessions.get(sessionId);
      return frozen((scope === 'without_call' ? session?.eventsWithoutCall : session?.events) ?? []);
    },
    readState: (sessionId, subject) => sessions.get(sessionId)?.states.get(subject),
    readSealed: (sessionId, callId) => sessions.get(sessionId)?.calls.get(callId)?.sealed,
    whenChanged(sessionId, callId, version, signal) {
      const call = sessions.get(sessionId)?.calls.get(callId);
      if (call === undefined || call.version !== version) return Promise.resolve();
      return untilWoken((waiter) => {
        call.waiters ??= new Set();
        call.waiters.add(waiter);
        return () => call.waiters?.delete(waiter);
      }, signal);
    },
  };
}

/**
 * A reader gets the stored objects and must not change them. They are frozen when read, so that appending stays
 * cheap.
 */
function frozen(events: readonly QuittanceEvent[]): readonly QuittanceEvent[] {
  for (const event of events) freezeJson(event as unknown as JsonObject); // events are JSON except for undefined
  return events.slice();
}
