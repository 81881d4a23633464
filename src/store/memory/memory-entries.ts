import type { Entries } from '../../ledger/entries.ts';
import { untilWoken } from '../../ledger/until-woken.ts';
import { measureJson } from './measure-json.ts';
import type { MemoryStore } from './memory-store.ts';
import { findAfter } from './memory-store.ts';

export function createMemoryEntries(store: MemoryStore): Entries {
  const { ownerId, salt, sessions } = store;
  return {
    read({ after = 0, sessionId, limit }) {
      const one = sessionId === undefined ? undefined : sessions.get(sessionId);
      if (sessionId !== undefined && one === undefined) return [];
      const from = findAfter(one?.entries ?? store.log, after);
      const found = (one?.entries ?? store.log).slice(from, from + limit);
      return found.map(({ session, index }) => session.read(index, ownerId, salt));
    },
    measure({ after = 0, sessionId, limit }) {
      const one = sessionId === undefined ? undefined : sessions.get(sessionId);
      if (sessionId !== undefined && one === undefined) return [];
      const from = findAfter(one?.entries ?? store.log, after);
      const found = (one?.entries ?? store.log).slice(from, from + limit);
      return found.map(({ position, events, session }) => ({
        position,
        sessionId: session.sessionId,
        bytes: measureJson(events),
      }));
    },
    whenAppended: (after, signal) =>
      store.position > after
        ? Promise.resolve()
        : untilWoken((woken) => {
            const waiter = { after, ...woken };
            store.endWaiters.add(waiter);
            return () => store.endWaiters.delete(waiter);
          }, signal),
    lastPosition: () => store.position,
  };
}
