import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { systemClock } from '../../base/clock.ts';
import { createIds } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type {
  AppendResult,
  Claim,
  ClaimHolder,
  Counter,
  Entry,
  Ledger,
  Move,
  NewArtifact,
  Reservation,
} from '../../ledger/ledger.ts';
import type { Head } from '../../ledger/chain.ts';
import { tallyCalls } from '../../ledger/call-tally.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { erasureEntry, removalEntry } from '../../ledger/own-entry.ts';
import { closedError, inUseError, refuseEntry, refuseErasure } from '../../ledger/refuse-entry.ts';
import { sessionCounterPrefixes } from '../../ledger/session-counters.ts';
import type { Waiter } from '../../ledger/until-woken.ts';
import { untilWoken } from '../../ledger/until-woken.ts';
import { findConfirmation, queryConfirmations } from './memory-confirmations.ts';
import { MemoryCursors } from './memory-cursors.ts';
import { queryCalls, querySessions, summariseCalls } from './memory-queries.ts';
import { listBeside } from './memory-beside.ts';
import type { KeptEntry } from './memory-session.ts';
import { measureArtifact, measureJson, toBytes } from './memory-sizes.ts';
import { MemorySession } from './memory-session.ts';

export type MemoryLedgerOptions = {
  readonly clock?: Clock;
  /** 32 bytes. Random by default: what is sealed dies with the process, as everything here does. */
  readonly sealKey?: Uint8Array;
};

const nothing: Counter = { used: 0, reserved: 0 };
const salt = (): string => randomBytes(18).toString('base64url');

/** A ledger that lives as long as the process: for tests, scripts and calls nobody must explain tomorrow. */
export function createMemoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  const clock = options.clock ?? systemClock;
  const sealKey = options.sealKey ?? randomBytes(32);
  const ids = createIds();
  const ownerId = ids.secret('own');
  const sessions = new Map<string, MemorySession>();
  /** Their ids in order, made when somebody goes through them. */
  let sessionIds: readonly string[] | undefined;
  const claims = new Map<string, ClaimHolder>();
  const counters = new Map<string, { used: number; reserved: number }>();
  const artifacts = new Map<string, Map<string, NewArtifact>>();
  const cursors = new MemoryCursors(ownerId);
  /** Entries of all sessions, in the order of their positions. */
  let log: { readonly position: number; readonly session: MemorySession; readonly index: number }[] = [];
  let position = 0;
  const endWaiters = new Set<Waiter & { readonly after: number }>();
  let closed = false;

  const sessionOf = (sessionId: string): MemorySession => {
    let session = sessions.get(sessionId);
    if (session === undefined) {
      session = new MemorySession(sessionId);
      sessions.set(sessionId, session);
      sessionIds = undefined;
    }
    return session;
  };

  const spent = (reserve: readonly Reservation[]): AppendResult | undefined => {
    for (const [index, { counter, amount, limit }] of reserve.entries()) {
      const { used, reserved } = counters.get(counter) ?? nothing;
      let taken = used + reserved;
      for (const earlier of reserve.slice(0, index)) if (earlier.counter === counter) taken += earlier.amount;
      if (taken + amount > limit) return { status: 'exhausted', counter, used: taken };
    }
    return undefined;
  };

  const findMoved = (sessionId: string, moves: readonly Move[]): AppendResult | undefined => {
    const states = sessions.get(sessionId)?.states;
    for (const { subject, expectedVersion } of moves) {
      const version = states?.get(subject)?.version ?? 0;
      if (version !== expectedVersion) return { status: 'moved', subject, version };
    }
    return undefined;
  };

  const count = (name: string, used: number, reserved: number): void => {
    const counter = counters.get(name);
    if (counter === undefined) counters.set(name, { used, reserved });
    else {
      counter.used += used;
      counter.reserved += reserved;
    }
  };

  const keep = (entry: KeptEntry): number => {
    const session = sessionOf(entry.sessionId);
    log.push({ position: ++position, session, index: session.entries.length });
    const version = session.add(position, entry);
    for (const waiter of endWaiters) {
      if (position <= waiter.after) continue;
      endWaiters.delete(waiter);
      waiter.resolve();
    }
    return version;
  };

  const append = (entry: Entry): AppendResult => {
    if (closed) throw closedError();
    refuseEntry(entry);
    const call =
      entry.callId === undefined ? undefined : sessions.get(entry.sessionId)?.calls.get(entry.callId);
    const version = call?.version ?? 0;
    const expected = entry.expectedVersion === 'any' ? call?.version : entry.expectedVersion;
    if (entry.callId !== undefined && version !== expected) return { status: 'conflict', version };
    if (entry.claim !== undefined) {
      const holder = claims.get(entry.claim.key);
      if (holder !== undefined && !isSameCall(holder, entry.claim.supersedes))
        return { status: 'claimed', holder };
    }
    const exhausted = entry.reserve && spent(entry.reserve);
    if (exhausted !== undefined) return exhausted;

    const moved =
      (entry.moves && findMoved(entry.sessionId, entry.moves)) ??
      (entry.guards && findMoved(entry.sessionId, entry.guards));
    if (moved !== undefined) return moved;
    const displaced = entry.cursor && cursors.findDisplaced(entry.cursor);
    if (displaced !== undefined) return { status: 'displaced', ...displaced };

    for (const { counter, amount } of entry.reserve ?? []) count(counter, 0, amount);
    for (const { counter, reserved, used, reset } of entry.settle ?? [])
      count(counter, used - (reset === true ? (counters.get(counter)?.used ?? 0) : 0), -reserved);
    if (entry.releaseClaim !== undefined) claims.delete(entry.releaseClaim);
    if (entry.claim !== undefined && entry.callId !== undefined) {
      const { key, inputDigest } = entry.claim;
      claims.set(key, { sessionId: entry.sessionId, callId: entry.callId, inputDigest });
    }
    if (entry.cursor !== undefined) cursors.move(entry.cursor);
    const touched = new Set(
      [...(entry.reserve ?? []), ...(entry.settle ?? [])].map(({ counter }) => counter),
    );
    if (touched.size === 0) return { status: 'appended', version: keep(entry) };
    const totals = [...touched].map((counter) => ({ counter, ...(counters.get(counter) ?? nothing) }));
    return { status: 'appended', version: keep({ ...entry, totals }) };
  };

  const unlessClosed = <Result>(work: () => Result): Result => {
    if (closed) throw closedError();
    return work();
  };

  const refuseOpen = (session: MemorySession, callIds: Iterable<string | undefined>): void => {
    for (const callId of callIds)
      if (callId !== undefined && session.calls.get(callId)?.settled === false)
        throw inUseError(session.sessionId, callId);
  };

  return {
    append,
    readCall(sessionId, callId) {
      const call = sessions.get(sessionId)?.calls.get(callId);
      if (call === undefined) return undefined;
      const { version, events, depth, claimKey } = call;
      return {
        version,
        events: frozen(events),
        ownerId,
        ...(depth !== undefined && depth > 0 && { depth }),
        ...(claimKey !== undefined && { claimKey }),
      };
    },
    measureCall(sessionId, callId) {
      const call = sessions.get(sessionId)?.calls.get(callId);
      return call === undefined ? 0 : measureJson(call.events);
    },
    readSession: (sessionId, scope) => {
      const session = sessions.get(sessionId);
      return frozen((scope === 'without_call' ? session?.eventsWithoutCall : session?.events) ?? []);
    },
    readClaim: (claimKey) => claims.get(claimKey),
    readCounters: (names) => names.map((name) => ({ ...(counters.get(name) ?? nothing) })),
    findUnsettledEffects: (sessionId, toolName, inputDigest) =>
      sessions.get(sessionId)?.inDoubt(toolName, inputDigest) ?? [],
    whenChanged(sessionId, callId, version, signal) {
      const call = sessions.get(sessionId)?.calls.get(callId);
      if (call === undefined || call.version !== version) return Promise.resolve();
      return untilWoken((waiter) => {
        call.waiters ??= new Set();
        call.waiters.add(waiter);
        return () => call.waiters?.delete(waiter);
      }, signal);
    },
    readState: (sessionId, subject) => sessions.get(sessionId)?.states.get(subject),
    readSealed: (sessionId, callId) => sessions.get(sessionId)?.calls.get(callId)?.sealed,
    putArtifact(artifact) {
      const kept = artifacts.get(artifact.sessionId);
      if (kept === undefined) artifacts.set(artifact.sessionId, new Map([[artifact.artifactId, artifact]]));
      else kept.set(artifact.artifactId, artifact);
    },
    readArtifact: (sessionId, artifactId) => artifacts.get(sessionId)?.get(artifactId),
    measureArtifact(sessionId, artifactId) {
      const found = artifacts.get(sessionId)?.get(artifactId);
      return found && measureArtifact(found);
    },
    readArtifactBytes(sessionId, artifactId, from, most) {
      const found = artifacts.get(sessionId)?.get(artifactId);
      return found && toBytes(found).subarray(from, from + most);
    },
    findOpenCalls: ({ after = '-1', limit } = {}) =>
      [...sessions.values()]
        .flatMap(({ sessionId, calls }) =>
          [...calls]
            .filter(([, call]) => !call.settled)
            .map(([callId, call]) => ({ sessionId, callId, call })),
        )
        .sort((left, right) => left.call.position - right.call.position)
        .filter(({ call }) => call.position > Number(after))
        .slice(0, limit)
        .map(({ sessionId, callId, call }) => ({
          sessionId,
          callId,
          ownerId,
          place: String(call.position),
        })),
    queryCalls: (query) => queryCalls(sessions.values(), query),
    tallyCalls: (query) => tallyCalls(summariseCalls(sessions.values()), query),
    querySessions: (query) => querySessions(sessions.values(), query),
    queryConfirmations: (query) => queryConfirmations(sessions.values(), query),
    findConfirmation: (confirmationId) => findConfirmation(sessions.values(), confirmationId),
    readEntries({ after = 0, sessionId, limit }) {
      const one = sessionId === undefined ? undefined : sessions.get(sessionId);
      if (sessionId !== undefined && one === undefined) return [];
      const from = findAfter(one?.entries ?? log, after);
      return one === undefined
        ? log.slice(from, from + limit).map(({ session, index }) => session.read(index, ownerId, salt))
        : one.entries.slice(from, from + limit).map((_, index) => one.read(from + index, ownerId, salt));
    },
    measureEntries({ after = 0, sessionId, limit }) {
      const one = sessionId === undefined ? undefined : sessions.get(sessionId);
      if (sessionId !== undefined && one === undefined) return [];
      const from = findAfter(one?.entries ?? log, after);
      const found =
        one === undefined
          ? log.slice(from, from + limit).flatMap(({ session, index }) => {
              const entry = session.entries[index];
              return entry === undefined ? [] : [{ entry, session }];
            })
          : one.entries.slice(from, from + limit).map((entry) => ({ entry, session: one }));
      return found.map(({ entry: { position: at, events }, session }) => ({
        position: at,
        sessionId: session.sessionId,
        bytes: measureJson(events),
      }));
    },
    readBeside: () => listBeside(sessions.values(), claims, counters, artifacts.values()),
    inspect: () => nothingFound(),
    readHeads: (of) =>
      [...sessions.values()]
        .filter(({ sessionId, entries }) => entries.length > 0 && (of === undefined || sessionId === of))
        .map((session) => session.head(ownerId, salt)),
    queryHeads({ after, limit, at = position }) {
      sessionIds ??= [...sessions.keys()].sort();
      const heads: Head[] = [];
      let from = after === undefined ? 0 : firstIndex(sessionIds, (sessionId) => sessionId > after);
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
    whenAppended: (after, signal) =>
      position > after
        ? Promise.resolve()
        : untilWoken((woken) => {
            const waiter = { after, ...woken };
            endWaiters.add(waiter);
            return () => endWaiters.delete(waiter);
          }, signal),
    lastPosition: () => position,
    readCursor: (name) => cursors.read(name),
    readCursors: () => cursors.list(),
    takeCursor: (take) => unlessClosed(() => cursors.take(take)),
    moveCursor: (move) => unlessClosed(() => cursors.move(move)),
    releaseCursor: (name, holder) => unlessClosed(() => cursors.release(name, holder)),
    dropCursor: (name) => unlessClosed(() => cursors.drop(name)),
    erase(erasure) {
      refuseErasure(erasure);
      const session = sessions.get(erasure.sessionId);
      if (session === undefined) return 0;
      const asked = erasure.entryIds && new Set(erasure.entryIds);
      const items = session.entries.filter(({ entry }) => asked?.has(entry.entryId) ?? true);
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
      if (erased.length > 0) keep(erasureEntry(erasure, entryIds, clock.now(), ids));
      return erased.length;
    },
    dropSession(removal) {
      refuseErasure(removal);
      const { sessionId } = removal;
      const session = sessions.get(sessionId);
      if (session === undefined || sessionId === ledgerSessionId) return false;
      refuseOpen(session, session.calls.keys());
      const head = session.head(ownerId, salt);
      sessions.delete(sessionId);
      sessionIds = undefined;
      log = log.filter((item) => item.session !== session);
      artifacts.delete(sessionId);
      for (const [key, holder] of claims) if (holder.sessionId === sessionId) claims.delete(key);
      const prefixes = sessionCounterPrefixes(sessionId);
      for (const name of counters.keys())
        if (prefixes.some((prefix) => name.startsWith(prefix))) counters.delete(name);
      keep(removalEntry(removal, head, clock.now(), ids));
      return true;
    },
    rebuild: () => [], // nothing is kept but entries
    ownerId,
    inHand: new Map(),
    findGoneOwners: () => [],
    forgetOwner: () => undefined,
    ownerStatus: (other) => (other === ownerId && !closed ? 'alive' : 'gone'),
    spill: () => false,
    canSpill: () => undefined,
    readSpills: () => [],
    dropSpill: () => true,
    now: () => clock.now(),
    sealKey,
    close() {
      closed = true;
      return Promise.resolve();
    },
  };
}

/** There is no file, and there are no tables. */
async function* nothingFound(): AsyncGenerator<never, void, undefined> {}

/** Where the first item after a position stands in a list that is in the order of positions. */
const findAfter = (items: readonly { readonly position: number }[], after: number): number =>
  firstIndex(items, ({ position }) => position > after);

/** Where the items begin that come late enough, in a list that is in order. */
function firstIndex<Item>(items: readonly Item[], isLate: (item: Item) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isLate(items[middle] as Item)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** What is read is what is kept: nobody may write into it. Frozen when read, so that appending stays cheap. */
function frozen(events: readonly QuittanceEvent[]): readonly QuittanceEvent[] {
  for (const event of events) freezeJson(event as unknown as JsonObject); // events are JSON but for undefined
  return events.slice();
}

const isSameCall = (holder: ClaimHolder, other: Claim['supersedes']): boolean =>
  holder.callId === other?.callId && holder.sessionId === other.sessionId;
