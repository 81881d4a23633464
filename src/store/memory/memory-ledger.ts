import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { systemClock } from '../../base/clock.ts';
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
  NewArtifact,
  Reservation,
} from '../../ledger/ledger.ts';

export type MemoryLedgerOptions = {
  readonly clock?: Clock;
  /** 32 bytes. Random by default: what is sealed dies with the process, as everything here does. */
  readonly sealKey?: Uint8Array;
};

type MemoryCall = {
  version: number;
  readonly events: QuittanceEvent[];
  sealed: string | undefined;
  waiters: (() => void)[] | undefined;
};
type MemorySession = {
  readonly events: QuittanceEvent[];
  readonly calls: Map<string, MemoryCall>;
  readonly unsettled: Map<string, string[]>;
};

const nothing: Counter = { used: 0, reserved: 0 };

/** A ledger that lives as long as the process: for tests, scripts and calls nobody must explain tomorrow. */
export function createMemoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  const clock = options.clock ?? systemClock;
  const sealKey = options.sealKey ?? randomBytes(32);
  const sessions = new Map<string, MemorySession>();
  const claims = new Map<string, ClaimHolder>();
  const counters = new Map<string, { used: number; reserved: number }>();
  const artifacts = new Map<string, NewArtifact>();

  const sessionOf = (sessionId: string): MemorySession => {
    let session = sessions.get(sessionId);
    if (session === undefined) {
      session = { events: [], calls: new Map(), unsettled: new Map() };
      sessions.set(sessionId, session);
    }
    return session;
  };

  const spent = (reserve: readonly Reservation[]): AppendResult | undefined => {
    for (const reservation of reserve) {
      const { used, reserved } = counters.get(reservation.counter) ?? nothing;
      if (used + reserved + reservation.amount > reservation.limit)
        return { status: 'exhausted', counter: reservation.counter, used: used + reserved };
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

  const append = (entry: Entry): AppendResult => {
    const session = sessionOf(entry.sessionId);
    const call = entry.callId === undefined ? undefined : session.calls.get(entry.callId);
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

    for (const { counter, amount } of entry.reserve ?? []) count(counter, 0, amount);
    for (const { counter, reserved, used } of entry.settle ?? []) count(counter, used, -reserved);
    if (entry.releaseClaim !== undefined) claims.delete(entry.releaseClaim);
    for (const event of entry.events) session.events.push(event);
    if (entry.callId === undefined) return { status: 'appended', version: 0 };
    if (entry.claim !== undefined) {
      const { key, inputDigest } = entry.claim;
      claims.set(key, { sessionId: entry.sessionId, callId: entry.callId, inputDigest });
    }
    const next = keep(session, entry.callId, call, entry);
    for (const event of entry.events) indexUnsettled(session, event);
    return { status: 'appended', version: next };
  };

  return {
    append,
    readCall(sessionId, callId) {
      const call = sessions.get(sessionId)?.calls.get(callId);
      return call && { version: call.version, events: frozen(call.events) };
    },
    readSession: (sessionId) => frozen(sessions.get(sessionId)?.events ?? []),
    readClaim: (claimKey) => claims.get(claimKey),
    readCounters: (names) => names.map((name) => ({ ...(counters.get(name) ?? nothing) })),
    findUnsettledEffects: (sessionId, toolName, inputDigest) =>
      sessions.get(sessionId)?.unsettled.get(unsettledKey(toolName, inputDigest)) ?? [],
    whenChanged(sessionId, callId, version) {
      const call = sessions.get(sessionId)?.calls.get(callId);
      if (call === undefined || call.version !== version) return Promise.resolve();
      return new Promise((resolve) => {
        call.waiters ??= [];
        call.waiters.push(resolve);
      });
    },
    readSealed: (sessionId, callId) => sessions.get(sessionId)?.calls.get(callId)?.sealed,
    putArtifact(artifact) {
      artifacts.set(artifactKey(artifact.sessionId, artifact.artifactId), artifact);
    },
    readArtifact: (sessionId, artifactId) => artifacts.get(artifactKey(sessionId, artifactId)),
    now: () => clock.now(),
    sealKey,
  };
}

/** What is read is what is kept: nobody may write into it. Frozen when read, so that appending stays cheap. */
function frozen(events: readonly QuittanceEvent[]): readonly QuittanceEvent[] {
  for (const event of events) freezeJson(event as unknown as JsonObject); // events are JSON but for undefined
  return events.slice();
}

function keep(session: MemorySession, callId: string, known: MemoryCall | undefined, entry: Entry): number {
  let call = known;
  if (call === undefined) {
    call = { version: 0, events: [], sealed: undefined, waiters: undefined };
    session.calls.set(callId, call);
  }
  if (entry.expectedVersion !== 'any') call.version++;
  for (const event of entry.events) if ('callId' in event && event.callId === callId) call.events.push(event);
  if (entry.sealed !== undefined) call.sealed = entry.sealed;
  if (entry.dropSealed === true) call.sealed = undefined;
  if (entry.expectedVersion === 'any') return call.version;
  const waiters = call.waiters;
  call.waiters = undefined;
  if (waiters !== undefined) for (const wake of waiters) wake();
  return call.version;
}

const isSameCall = (holder: ClaimHolder, other: Claim['supersedes']): boolean =>
  holder.callId === other?.callId && holder.sessionId === other.sessionId;

const artifactKey = (sessionId: string, artifactId: string): string =>
  JSON.stringify([sessionId, artifactId]);

const unsettledKey = (toolName: string, inputDigest: string): string => `${inputDigest}\n${toolName}`;

function indexUnsettled(session: MemorySession, event: QuittanceEvent): void {
  if (event.type !== 'tool.responded' || !event.unsettledEffect) return;
  const digest = inputDigestOf(session, event.callId);
  if (digest === undefined) return;
  const key = unsettledKey(event.outcome.toolName, digest);
  const calls = session.unsettled.get(key);
  if (calls === undefined) session.unsettled.set(key, [event.callId]);
  else calls.push(event.callId);
}

function inputDigestOf(session: MemorySession, callId: string): string | undefined {
  const events = session.calls.get(callId)?.events ?? [];
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index];
    if (event?.type === 'tool.decided' && event.inputDigest !== undefined) return event.inputDigest;
  }
  return undefined;
}
