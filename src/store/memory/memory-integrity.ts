import type { Head } from '../../ledger/chain.ts';
import type { Integrity } from '../../ledger/integrity.ts';
import { listMemorySideRows } from './memory-side-rows.ts';
import type { MemoryStore } from './memory-store.ts';
import { findAfter, firstIndex } from './memory-store.ts';

export function createMemoryIntegrity(store: MemoryStore): Integrity {
  const { ownerId, salt, sessions } = store;
  return {
    readHeads: (of) =>
      [...sessions.values()]
        .filter(({ sessionId, entries }) => entries.length > 0 && (of === undefined || sessionId === of))
        .map((session) => session.head(ownerId, salt)),
    findHeads({ after, limit, at = store.position }) {
      const { sessionIds } = store;
      const heads: Head[] = [];
      let from =
        after === undefined ? 0 : firstIndex(sessionIds.length, (index) => (sessionIds[index] ?? '') > after);
      for (; from < sessionIds.length && heads.length < limit; from++) {
        const session = sessions.get(sessionIds[from] as string);
        const length = session === undefined ? 0 : findAfter(session.entries, at);
        if (session !== undefined && length > 0) heads.push(session.head(ownerId, salt, length));
      }
      return heads;
    },
    countSessions() {
      let count = 0;
      for (const { entries } of sessions.values()) if (entries.length > 0) count++;
      return count;
    },
    readSideRows: () =>
      listMemorySideRows(sessions.values(), store.claims, store.counters, store.artifacts.values()),
    inspect: () => nothingFound(),
    rebuild: () => [], // only entries are stored
  };
}

/** There is no file, and there are no tables. */
async function* nothingFound(): AsyncGenerator<never, void, undefined> {}
