import type { Ids } from '../../base/ids.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { erasureEntry, removalEntry } from '../../ledger/own-entry.ts';
import { inUseError, refuseErasure } from '../../ledger/refuse-entry.ts';
import type { Retention } from '../../ledger/retention.ts';
import { sessionCounterPrefixes } from '../../ledger/session-counters.ts';
import type { MemorySession } from './memory-session.ts';
import type { MemoryStore } from './memory-store.ts';

export function createMemoryRetention(store: MemoryStore, ids: Ids, now: () => number): Retention {
  const { artifacts, ownerId, salt, sessions } = store;
  return {
    erase(erasure) {
      refuseErasure(erasure);
      const session = sessions.get(erasure.sessionId);
      if (session === undefined) return 0;
      const asked = erasure.entryIds && new Set(erasure.entryIds);
      const items = session.entries.slice().filter(({ entry }) => asked?.has(entry.entryId) ?? true);
      refuseOpen(
        session,
        items.map(({ entry }) => entry.callId),
      );
      const erased = items.filter((item) => session.erase(item, ownerId, salt));
      const callIds = new Set(erased.map(({ entry }) => entry.callId));
      if (asked === undefined)
        for (const [subject, { version }] of session.states)
          session.states.set(subject, { version, state: {} });
      for (const [artifactId, { callId }] of artifacts.get(erasure.sessionId) ?? [])
        if (callIds.has(callId)) artifacts.get(erasure.sessionId)?.delete(artifactId);
      const entryIds = erased.map(({ entry }) => entry.entryId);
      if (erased.length > 0) store.keep(erasureEntry(erasure, entryIds, now(), ids));
      return erased.length;
    },
    dropSession(removal) {
      refuseErasure(removal);
      const { sessionId } = removal;
      const session = sessions.get(sessionId);
      if (session === undefined || sessionId === ledgerSessionId) return false;
      const head = session.head(ownerId, salt);
      if ((removal.lastHash ?? head.hash) !== head.hash) return false;
      refuseOpen(session, session.calls.keys());
      const prefixes = sessionCounterPrefixes(sessionId);
      store.dropSession(session, (counter) => prefixes.some((prefix) => counter.startsWith(prefix)));
      store.keep(removalEntry(removal, head, now(), ids));
      return true;
    },
  };
}

function refuseOpen(session: MemorySession, callIds: Iterable<string | undefined>): void {
  for (const callId of callIds)
    if (callId !== undefined && session.calls.get(callId)?.settled === false)
      throw inUseError(session.sessionId, callId);
}
