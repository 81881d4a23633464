import { checkKeys } from '../../base/check-keys.ts';
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { systemClock } from '../../base/clock.ts';
import { createIds } from '../../base/ids.ts';
import type { Artifacts } from '../../ledger/artifacts.ts';
import { countCalls, countDenials } from '../../ledger/call-count.ts';
import { tallyCalls } from '../../ledger/call-tally.ts';
import type { Claims } from '../../ledger/claims.ts';
import type { Documents } from '../../ledger/documents.ts';
import type { Cursors } from '../../ledger/cursors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { OpenCall, OpenCallQuery, Queries } from '../../ledger/queries.ts';
import { findConfirmation, queryConfirmations } from './memory-confirmations.ts';
import { createMemoryEntries } from './memory-entries.ts';
import { createMemoryIntegrity } from './memory-integrity.ts';
import { createMemoryJournal } from './memory-journal.ts';
import { queryCalls, querySessions, summarizeCalls } from './memory-queries.ts';
import { createMemoryRetention } from './memory-retention.ts';
import { measureArtifact, toBytes } from './measure-json.ts';
import { MemoryStore } from './memory-store.ts';

export type MemoryLedgerOptions = {
  readonly clock?: Clock;
  /** 32 bytes. Random by default: sealed inputs end with the process, like everything in this ledger. */
  readonly sealKey?: Uint8Array;
};

/** A ledger that lives as long as the process: for tests, scripts and calls whose records may be lost. */
export function createMemoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  checkKeys('createMemoryLedger', options, ['clock', 'sealKey']);
  const clock = options.clock ?? systemClock;
  const ids = createIds();
  const store = new MemoryStore(ids.secret('own'));
  const now = clock.now.bind(clock);
  return {
    journal: createMemoryJournal(store),
    claims: createClaims(store),
    artifacts: createArtifacts(store),
    owners: {
      ownerId: store.ownerId,
      runtimes: new Set(),
      statusOf: (other) => (other === store.ownerId && !store.isClosed ? 'alive' : 'gone'),
      findGone: () => [],
      forget: () => undefined,
    },
    spill: { write: () => false, canWrite: () => undefined, read: () => [], drop: () => true },
    queries: createQueries(store),
    entries: createMemoryEntries(store),
    cursors: createCursors(store),
    integrity: createMemoryIntegrity(store),
    retention: createMemoryRetention(store, ids, now),
    documents: createDocuments(),
    sealKey: options.sealKey ?? randomBytes(32),
    now,
    close() {
      store.isClosed = true;
      return Promise.resolve();
    },
  };
}

function createDocuments(): Documents {
  const stored = new Map<string, { readonly version: number; readonly text: string }>();
  return {
    read: (name) => stored.get(name) ?? { version: 0, text: undefined },
    replace(name, version, text) {
      if ((stored.get(name)?.version ?? 0) !== version) return false;
      stored.set(name, { version: version + 1, text });
      return true;
    },
  };
}

const none: readonly never[] = Object.freeze([]);

const createClaims = (store: MemoryStore): Claims => ({
  readClaim: (claimKey) => store.claims.get(claimKey),
  readCounters: (names) => names.map((name) => store.readCounter(name)),
  findUnsettledEffects: (sessionId, toolName, inputDigest) =>
    store.sessions.get(sessionId)?.inDoubt(toolName, inputDigest) ?? none,
});

const createArtifacts = ({ artifacts }: MemoryStore): Artifacts => ({
  put(artifact) {
    const kept = artifacts.get(artifact.sessionId);
    if (kept === undefined) artifacts.set(artifact.sessionId, new Map([[artifact.artifactId, artifact]]));
    else kept.set(artifact.artifactId, artifact);
  },
  read: (sessionId, artifactId) => artifacts.get(sessionId)?.get(artifactId),
  measure(sessionId, artifactId) {
    const found = artifacts.get(sessionId)?.get(artifactId);
    return found && measureArtifact(found);
  },
  readBytes(sessionId, artifactId, from, most) {
    const found = artifacts.get(sessionId)?.get(artifactId);
    return found && toBytes(found).subarray(from, from + most);
  },
});

const createQueries = (store: MemoryStore): Queries => ({
  findOpenCalls: (query = {}) => findOpenCalls(store, query),
  findCalls: (query) => queryCalls(store.sessions.values(), query),
  tallyCalls: (query) => tallyCalls(summarizeCalls(store.sessions.values()), query),
  countCalls: (query) => countCalls(summarizeCalls(store.sessions.values()), query),
  countDenials: (span) => countDenials(summarizeCalls(store.sessions.values()), span),
  findSessions: (query) => querySessions(store.sessions.values(), query),
  findConfirmations: (query) => queryConfirmations(store.sessions.values(), query),
  findConfirmation: (confirmationId) => findConfirmation(store.sessions.values(), confirmationId),
});

const findOpenCalls = (
  { ownerId, sessions }: MemoryStore,
  { after = '-1', limit }: OpenCallQuery,
): readonly OpenCall[] =>
  [...sessions.values()]
    .flatMap(({ sessionId, calls }) =>
      [...calls]
        .filter(([, call]) => !call.settled)
        .map(([callId, { position }]) => ({ sessionId, callId, position })),
    )
    .sort((left, right) => left.position - right.position)
    .filter(({ position }) => position > Number(after))
    .slice(0, limit)
    .map(({ sessionId, callId, position }) => ({ sessionId, callId, ownerId, cursor: String(position) }));

function createCursors(store: MemoryStore): Cursors {
  const { cursors } = store;
  const unlessClosed = <Result>(work: () => Result): Result => {
    store.requireOpen();
    return work();
  };
  return {
    read: (name) => cursors.read(name),
    list: () => cursors.list(),
    take: (take) => unlessClosed(() => cursors.take(take)),
    move: (move) => unlessClosed(() => cursors.move(move)),
    release: (name, holder) => unlessClosed(() => cursors.release(name, holder)),
    drop: (name) => unlessClosed(() => cursors.drop(name)),
  };
}
