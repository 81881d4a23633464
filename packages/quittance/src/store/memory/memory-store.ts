/** All data of a memory ledger, and how an entry is added to it. */
import { randomBytes } from 'node:crypto';
import type { NewArtifact } from '../../ledger/artifacts.ts';
import type { Claim, ClaimHolder, Counter, Reservation } from '../../ledger/claims.ts';
import type { AppendResult, Entry, Move } from '../../ledger/journal.ts';
import { closedError, refuseEntry } from '../../ledger/prepare-entry.ts';
import type { Waiter } from '../../ledger/until-woken.ts';
import type { KeptEntry, MemoryCall, MemoryEntry } from './memory-session.ts';
import { MemorySession } from './memory-session.ts';
import { PagedList } from './paged-list.ts';
import type { Cursor, CursorChange, CursorMove } from '../../ledger/cursors.ts';

/** The answers to almost all appends. */
const firstVersions = [0, 1, 2, 3].map((version) => Object.freeze({ status: 'appended', version } as const));

const appended = (version: number): AppendResult => firstVersions[version] ?? { status: 'appended', version };

const nothing: Counter = { used: 0, reserved: 0 };

export class MemoryStore {
  readonly ownerId: string;
  readonly sessions: Map<string, MemorySession> = new Map();
  readonly claims: Map<string, ClaimHolder> = new Map();
  readonly artifacts: Map<string, Map<string, NewArtifact>> = new Map();
  readonly cursors: MemoryCursors;
  readonly endWaiters: Set<Waiter<number>> = new Set();
  /** Entries of all sessions, in order of position. */
  log: PagedList<MemoryEntry> = new PagedList();
  position = 0;
  isClosed = false;
  readonly #counters = new Map<string, { used: number; reserved: number }>();
  #sessionIds: readonly string[] | undefined;

  constructor(ownerId: string) {
    this.ownerId = ownerId;
    this.cursors = new MemoryCursors(ownerId);
  }

  readonly salt = (): string => randomBytes(18).toString('base64url');

  /** The ids of all sessions, in order. Sorted on first use. */
  get sessionIds(): readonly string[] {
    return (this.#sessionIds ??= [...this.sessions.keys()].sort());
  }

  get counters(): ReadonlyMap<string, Counter> {
    return this.#counters;
  }

  findCall(sessionId: string, callId: string): MemoryCall | undefined {
    return this.sessions.get(sessionId)?.calls.get(callId);
  }

  readCounter(name: string): Counter {
    return { ...(this.#counters.get(name) ?? nothing) };
  }

  append(entry: Entry): AppendResult {
    this.requireOpen();
    refuseEntry(entry);
    const refused = this.#refuse(entry);
    if (refused !== undefined) return refused;
    if (entry.reserve !== undefined)
      for (const { counter, amount } of entry.reserve) this.#count(counter, 0, amount);
    if (entry.settle !== undefined)
      for (const { counter, reserved, used, reset } of entry.settle)
        this.#count(counter, used - (reset === true ? this.readCounter(counter).used : 0), -reserved);
    if (entry.releaseClaim !== undefined) this.claims.delete(entry.releaseClaim);
    if (entry.claim !== undefined && entry.callId !== undefined) {
      const { key, inputDigest } = entry.claim;
      this.claims.set(key, { sessionId: entry.sessionId, callId: entry.callId, inputDigest });
    }
    if (entry.cursor !== undefined) this.cursors.move(entry.cursor);
    if (entry.reserve === undefined && entry.settle === undefined) return appended(this.keep(entry));
    const touched = new Set(
      [...(entry.reserve ?? []), ...(entry.settle ?? [])].map(({ counter }) => counter),
    );
    if (touched.size === 0) return appended(this.keep(entry));
    const totals = [...touched].map((counter) => ({ counter, ...this.readCounter(counter) }));
    return appended(this.keep({ ...entry, totals }));
  }

  /** Adds an entry without any check. */
  keep(entry: KeptEntry): number {
    const session = this.#sessionOf(entry.sessionId);
    const version = session.add(++this.position, entry, this.log);
    if (this.endWaiters.size > 0) this.#wakeWaiters();
    return version;
  }

  #wakeWaiters(): void {
    for (const waiter of this.endWaiters) {
      if (this.position <= waiter.awaited) continue;
      this.endWaiters.delete(waiter);
      waiter.resolve();
    }
  }

  /** Removes a session with everything that belongs to it. `isIts` selects its counters. */
  dropSession(session: MemorySession, isIts: (counter: string) => boolean): void {
    const { sessionId } = session;
    this.sessions.delete(sessionId);
    this.#sessionIds = undefined;
    const { log } = this;
    this.log = new PagedList();
    for (const item of log.slice()) if (item.session !== session) this.log.push(item);
    this.artifacts.delete(sessionId);
    for (const [key, holder] of this.claims) if (holder.sessionId === sessionId) this.claims.delete(key);
    for (const name of this.#counters.keys()) if (isIts(name)) this.#counters.delete(name);
  }

  requireOpen(): void {
    if (this.isClosed) throw closedError();
  }

  #sessionOf(sessionId: string): MemorySession {
    let session = this.sessions.get(sessionId);
    if (session === undefined) {
      session = new MemorySession(sessionId);
      this.sessions.set(sessionId, session);
      this.#sessionIds = undefined;
    }
    return session;
  }

  #refuse(entry: Entry): AppendResult | undefined {
    const call =
      entry.callId === undefined ? undefined : this.sessions.get(entry.sessionId)?.calls.get(entry.callId);
    const version = call?.version ?? 0;
    const expected = entry.expectedVersion === 'any' ? call?.version : entry.expectedVersion;
    if (entry.callId !== undefined && version !== expected) return { status: 'conflict', version };
    if (entry.claim !== undefined) {
      const holder = this.claims.get(entry.claim.key);
      if (holder !== undefined && !isSameCall(holder, entry.claim.supersedes))
        return { status: 'claimed', holder };
    }
    const refused =
      (entry.reserve && this.#findSpent(entry.reserve)) ??
      (entry.moves && this.#findMoved(entry.sessionId, entry.moves)) ??
      (entry.guards && this.#findMoved(entry.sessionId, entry.guards));
    if (refused !== undefined) return refused;
    const displaced = entry.cursor && this.cursors.findDisplaced(entry.cursor);
    return displaced && { status: 'displaced', ...displaced };
  }

  #findSpent(reserve: readonly Reservation[]): AppendResult | undefined {
    for (const [index, { counter, amount, limit }] of reserve.entries()) {
      const { used, reserved } = this.readCounter(counter);
      let taken = used + reserved;
      for (const earlier of reserve.slice(0, index)) if (earlier.counter === counter) taken += earlier.amount;
      if (taken + amount > limit) return { status: 'exhausted', counter, used: taken };
    }
    return undefined;
  }

  #findMoved(sessionId: string, moves: readonly Move[]): AppendResult | undefined {
    const states = this.sessions.get(sessionId)?.states;
    for (const { subject, expectedVersion } of moves) {
      const version = states?.get(subject)?.version ?? 0;
      if (version !== expectedVersion) return { status: 'moved', subject, version };
    }
    return undefined;
  }

  #count(name: string, used: number, reserved: number): void {
    const counter = this.#counters.get(name);
    if (counter === undefined) this.#counters.set(name, { used, reserved });
    else {
      counter.used += used;
      counter.reserved += reserved;
    }
  }
}

const isSameCall = (holder: ClaimHolder, other: Claim['supersedes']): boolean =>
  holder.callId === other?.callId && holder.sessionId === other.sessionId;

/** Index of the first item after a position, in a list ordered by position. */
export const findAfter = (items: PagedList<{ readonly position: number }>, after: number): number =>
  firstIndex(items.length, (index) => items.get(index).position > after);

/** The first index that is late enough, in an ordered list of this length. */
export function firstIndex(length: number, isLate: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isLate(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The positions that the readers of a memory ledger have reached. */

class MemoryCursors {
  readonly #ownerId: string;
  readonly #cursors = new Map<string, Cursor>();

  constructor(ownerId: string) {
    this.#ownerId = ownerId;
  }

  list(name?: string): readonly Cursor[] {
    const found = [...this.#cursors.values()].filter((cursor) => name === undefined || cursor.name === name);
    return found.sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  set({ name, expected, next }: CursorChange): boolean {
    const found = this.#cursors.get(name);
    if (found?.holder !== expected?.holder || found?.position !== expected?.position) return false;
    if (next === undefined) this.#cursors.delete(name);
    else
      this.#cursors.set(name, {
        name,
        ...next,
        ownerId: next.holder === undefined ? undefined : this.#ownerId,
      });
    return true;
  }

  /** Finds the reason why a move is refused. */
  findDisplaced({
    name,
    holder,
    from,
  }: CursorMove): { readonly holder: string | undefined; readonly position: number } | undefined {
    const found = this.#cursors.get(name);
    if (found?.holder === holder && found.position === from) return undefined;
    return { holder: found?.holder, position: found?.position ?? 0 };
  }

  /** Part of an append that was not refused. */
  move(move: CursorMove): boolean {
    const found = this.#cursors.get(move.name);
    if (found === undefined || this.findDisplaced(move) !== undefined) return false;
    this.#cursors.set(move.name, { ...found, position: move.to });
    return true;
  }
}
