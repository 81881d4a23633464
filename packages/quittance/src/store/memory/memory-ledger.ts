import { checkKeys } from '../../base/check-keys.ts';
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/deadlines.ts';
import { systemClock } from '../../base/deadlines.ts';
import type { Ids } from '../../base/ids.ts';
import { createIds } from '../../base/ids.ts';
import { contentBytes, contentDigest } from '../../base/content-digest.ts';
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type { ArtifactPiece, NewArtifact } from '../../ledger/artifacts.ts';
import type { Head, HeadQuery } from '../../ledger/chain.ts';
import type { Page } from '../../ledger/call-query.ts';
import type { ClaimHolder, Counter } from '../../ledger/claims.ts';
import { sessionCounterPrefixes } from '../../ledger/claims.ts';
import type { Documents, Ledger, OpenLedger, RowReaders, Spill } from '../../ledger/ledger.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { erasureEntry, removalEntry } from '../../ledger/own-entry.ts';
import { inUseError, refuseErasure } from '../../ledger/prepare-entry.ts';
import type { ScannedCall, ScannedSession } from '../../ledger/scan-rows.ts';
import { scanRows } from '../../ledger/scan-rows.ts';
import type { SideRow } from '../../ledger/side-row.ts';
import type { EntryQuery } from '../../ledger/stored-entry.ts';
import { untilWoken } from '../../ledger/until-woken.ts';
import type { MemoryEntry, MemorySession } from './memory-session.ts';
import { allEvents } from './memory-session.ts';
import { MemoryStore, findAfter, firstIndex } from './memory-store.ts';

export type MemoryLedgerOptions = {
  readonly clock?: Clock;
  /** 32 bytes. Random by default: sealed inputs end with the process, like everything in this ledger. */
  readonly sealKey?: Uint8Array;
};

/** A ledger that lives as long as the process: for tests, scripts and calls whose records may be lost. */
export function createMemoryLedger(options: MemoryLedgerOptions = {}): OpenLedger {
  checkKeys('createMemoryLedger', options, ['clock', 'sealKey']);
  const { clock = systemClock, sealKey = randomBytes(32) } = options;
  const ids = createIds();
  const store = new MemoryStore(ids.secret('own'));
  const now = clock.now.bind(clock);
  const rows = rowReaders(store);
  return {
    ownerId: store.ownerId,
    now,
    sealKey,
    runtimes: new Set(),
    documents: createDocuments(),
    spill,
    append: async (entry) => store.append(entry),
    ...callReaders(store),
    readEntries: async (query) => {
      const found = selectEntries(store, query);
      return found.map(({ session, index }) => session.read(index, store.ownerId, store.salt));
    },
    query: (name, query) => rows[name](query),
    ...artifacts(store),
    async setCursor(change) {
      store.requireOpen();
      return store.cursors.set(change);
    },
    forgetOwner: async () => undefined,
    ...retention(store, ids, now),
    inspect: () => nothingFound(),
    rebuild: async () => [], // only entries are stored
    async close() {
      store.isClosed = true;
    },
  };
}

/** It ends with its process, like the entries that it would keep. */
const spill: Spill = {
  write: async () => false,
  canWrite: async () => undefined,
  read: async () => [],
  drop: async () => true,
};

/** There is no file, and there are no tables. */
async function* nothingFound(): AsyncGenerator<never, void, undefined> {}

const callReaders = (store: MemoryStore): Pick<Ledger, 'readCall' | 'readSession' | 'whenChanged'> => ({
  async readCall(sessionId, callId) {
    const call = store.findCall(sessionId, callId);
    if (call === undefined) return undefined;
    const { version, depth, claimKey } = call;
    return {
      version,
      events: frozen(allEvents(call)),
      ownerId: store.ownerId,
      ...(depth !== undefined && depth > 0 && { depth }),
      ...(claimKey !== undefined && { claimKey }),
    };
  },
  async readSession(sessionId, scope) {
    const session = store.sessions.get(sessionId);
    return frozen((scope === 'without_call' ? session?.eventsWithoutCall : session?.events) ?? []);
  },
  whenChanged(awaited, signal) {
    if ('after' in awaited) {
      const { after } = awaited;
      if (store.position > after) return Promise.resolve();
      return untilWoken(store.endWaiters, after, signal);
    }
    const call = store.findCall(awaited.sessionId, awaited.callId);
    if (call === undefined || call.version !== awaited.version) return Promise.resolve();
    return untilWoken((call.waiters ??= new Set()), undefined, signal);
  },
});

/**
 * A reader gets the stored objects and must not change them. They are frozen when read, so that appending stays
 * cheap.
 */
function frozen(events: readonly QuittanceEvent[]): readonly QuittanceEvent[] {
  for (const event of events) freezeJson(event as unknown as JsonObject); // events are JSON except for undefined
  return events.slice();
}

function selectEntries(
  { sessions, log }: MemoryStore,
  { after = 0, sessionId, limit }: EntryQuery,
): readonly MemoryEntry[] {
  const entries = sessionId === undefined ? log : sessions.get(sessionId)?.entries;
  if (entries === undefined) return [];
  const from = findAfter(entries, after);
  return entries.slice(from, from + limit);
}

const artifacts = ({ artifacts: stored }: MemoryStore): Pick<Ledger, 'putArtifact' | 'readArtifact'> => ({
  async putArtifact(artifact) {
    const kept = stored.get(artifact.sessionId);
    if (kept === undefined) stored.set(artifact.sessionId, new Map([[artifact.artifactId, artifact]]));
    else kept.set(artifact.artifactId, artifact);
  },
  async readArtifact(sessionId, artifactId, { from, most } = { from: 0, most: Number.POSITIVE_INFINITY }) {
    const found = stored.get(sessionId)?.get(artifactId);
    return found && cutArtifact(found, from, most);
  },
});

function cutArtifact({ mimeType, content, callId }: NewArtifact, from: number, most: number): ArtifactPiece {
  const isText = typeof content === 'string';
  const encoding = !isText ? 'bytes' : content.isWellFormed() ? 'utf8' : 'utf16le';
  const whole = isText ? Buffer.from(content, encoding === 'utf8' ? 'utf8' : 'utf16le') : content;
  return { mimeType, encoding, size: whole.byteLength, bytes: whole.subarray(from, from + most), callId };
}

function createDocuments(): Documents {
  const stored = new Map<string, { readonly version: number; readonly text: string }>();
  return {
    read: async (name) => stored.get(name) ?? { version: 0, text: undefined },
    async replace(name, version, text) {
      if ((stored.get(name)?.version ?? 0) !== version) return false;
      stored.set(name, { version: version + 1, text });
      return true;
    },
  };
}

const page = <Row>(rows: readonly Row[]): Page<Row> => ({ rows, next: undefined });
const pageOf = <Row>(row: Row | undefined): Page<Row> => page(row === undefined ? [] : [row]);

function rowReaders(store: MemoryStore): RowReaders {
  const { ownerId, salt, sessions } = store;
  return {
    ...scanRows(() => scan(store)),
    claims: async ({ key }) => pageOf(store.claims.get(key)),
    counters: async ({ names }) => page(names.map((name) => store.readCounter(name))),
    unsettled: async ({ sessionId, toolName, inputDigest }) =>
      page(sessions.get(sessionId)?.inDoubt(toolName, inputDigest) ?? []),
    states: async ({ sessionId, subject }) => pageOf(sessions.get(sessionId)?.states.get(subject)),
    sealed: async ({ sessionId, callId }) => pageOf(store.findCall(sessionId, callId)?.sealed),
    cursors: async ({ name }) => page(store.cursors.list(name)),
    owners: async (query) =>
      'ownerId' in query
        ? pageOf({
            ownerId: query.ownerId,
            status: query.ownerId === ownerId && !store.isClosed ? 'alive' : 'gone',
          })
        : page([]),
    async heads(query) {
      if ('limit' in query) return page(findHeads(store, query));
      const session = sessions.get(query.sessionId);
      return pageOf(session && session.entries.length > 0 ? session.head(ownerId, salt) : undefined);
    },
    async sizes(query) {
      if ('limit' in query)
        return page(
          selectEntries(store, query).map(({ position, events, session: { sessionId } }) => ({
            position,
            sessionId,
            bytes: measureJson(events),
          })),
        );
      const { sessionId, callId } = query;
      const call = store.findCall(sessionId, callId);
      return pageOf({ position: 0, sessionId, bytes: call === undefined ? 0 : measureJson(allEvents(call)) });
    },
    end: async () =>
      pageOf({
        position: store.position,
        sessions: [...sessions.values()].filter(({ entries }) => entries.length > 0).length,
      }),
    side_rows: async () =>
      page([...listSideRows(sessions.values(), store.claims, store.counters, store.artifacts.values())]),
  };
}

function* scan({ sessions, ownerId }: MemoryStore): Generator<ScannedSession, void> {
  for (const session of sessions.values())
    if (session.entries.length > 0)
      yield {
        sessionId: session.sessionId,
        position: session.entries.get(0).position,
        // Lists are made when they are read: most queries need few of them.
        get events() {
          return session.events;
        },
        get calls() {
          return scanCalls(session, ownerId);
        },
      };
}

function* scanCalls({ calls }: MemorySession, ownerId: string): Generator<ScannedCall, void> {
  for (const [callId, call] of calls)
    yield {
      callId,
      ownerId,
      position: call.position,
      isOpen: !call.settled,
      get events() {
        return allEvents(call);
      },
    };
}

function findHeads(
  { sessionIds, sessions, ownerId, salt, position }: MemoryStore,
  { after, limit, at = position }: HeadQuery,
): readonly Head[] {
  const heads: Head[] = [];
  let from =
    after === undefined ? 0 : firstIndex(sessionIds.length, (index) => (sessionIds[index] ?? '') > after);
  for (; from < sessionIds.length && heads.length < limit; from++) {
    const session = sessions.get(sessionIds[from] as string);
    const length = session === undefined ? 0 : findAfter(session.entries, at);
    if (session !== undefined && length > 0) heads.push(session.head(ownerId, salt, length));
  }
  return heads;
}

const retention = (
  store: MemoryStore,
  ids: Ids,
  now: () => number,
): Pick<Ledger, 'erase' | 'dropSession'> => {
  const { artifacts: stored, ownerId, salt, sessions } = store;
  return {
    async erase(erasure) {
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
      for (const [artifactId, { callId }] of stored.get(erasure.sessionId) ?? [])
        if (callIds.has(callId)) stored.get(erasure.sessionId)?.delete(artifactId);
      const entryIds = erased.map(({ entry }) => entry.entryId);
      if (erased.length > 0) store.keep(erasureEntry(erasure, entryIds, now(), ids));
      return erased.length;
    },
    async dropSession(removal) {
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
};

function refuseOpen(session: MemorySession, callIds: Iterable<string | undefined>): void {
  for (const callId of callIds)
    if (callId !== undefined && session.calls.get(callId)?.settled === false)
      throw inUseError(session.sessionId, callId);
}

/** Lists the state stored outside entries, row by row. */
function* listSideRows(
  sessions: Iterable<MemorySession>,
  claims: Iterable<readonly [string, ClaimHolder]>,
  counters: Iterable<readonly [string, Counter]>,
  artifacts: Iterable<ReadonlyMap<string, NewArtifact>>,
): Generator<SideRow, void, undefined> {
  for (const [key, holder] of claims) yield { kind: 'claim', key, ...holder };
  for (const [name, { used, reserved }] of counters) yield { kind: 'counter', name, used, reserved };
  for (const session of sessions) {
    const { sessionId } = session;
    for (const effect of session.allInDoubt()) yield { kind: 'unsettled', sessionId, ...effect };
    for (const [subject, { version, state }] of session.states)
      yield { kind: 'state', sessionId, subject, version, text: JSON.stringify(state) };
    for (const [callId, { sealed }] of session.calls)
      if (sealed !== undefined) yield { kind: 'sealed', sessionId, callId };
  }
  for (const kept of artifacts)
    for (const { sessionId, callId, artifactId, content } of kept.values()) {
      const sizeBytes = contentBytes(content).byteLength;
      yield { kind: 'artifact', sessionId, callId, artifactId, sizeBytes, digest: contentDigest(content) };
    }
}

/** Approximate number of bytes of the value as JSON, without serialising it. */
function measureJson(value: unknown): number {
  let bytes = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') bytes += next.length + 2;
    else if (typeof next !== 'object' || next === null) bytes += 5;
    else
      for (const [name, inner] of Object.entries(next)) {
        bytes += Array.isArray(next) ? 1 : name.length + 4;
        rest.push(inner);
      }
  }
  return bytes;
}
