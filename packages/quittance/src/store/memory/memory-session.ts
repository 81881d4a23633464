/** One session of a memory ledger: its entries and their summary. */
import { isEmittedEvent } from '../../call/emitted-event.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type { Head } from '../../ledger/chain.ts';
import { chainHash, genesisHash } from '../../ledger/chain.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { WrittenEntry } from '../../ledger/formats/v1/write-entry.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { CounterTotal } from '../../ledger/claims.ts';
import type { Entry, StoredState } from '../../ledger/journal.ts';
import { lastState } from '../../ledger/last-state.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import type { Waiter } from '../../ledger/until-woken.ts';
import { PagedList } from './paged-list.ts';
import { clearsUnsettledEffect, lastInputDigest, leavesUnsettledEffect } from '../../ledger/prepare-entry.ts';

export type MemoryCall = {
  /** Position of its first entry. */
  readonly position: number;
  readonly depth: number | undefined;
  version: number;
  /** Its events up to the last entry but one. See `allEvents`. Never changed: it may be the list of an entry. */
  earlier: readonly QuittanceEvent[];
  /** The events of its last entry. Most calls have at most two entries, so that no list is copied. */
  latest: readonly QuittanceEvent[];
  settled: boolean;
  sealed: string | undefined;
  /** The key of its last claim. */
  claimKey: string | undefined;
  waiters: Set<Waiter> | undefined;
};

/** An entry with the totals of its counters. */
export type KeptEntry = Entry & { readonly totals?: readonly CounterTotal[] };

/** An entry that is serialised only when it is read in that form. */
export type MemoryEntry = {
  readonly position: number;
  readonly session: MemorySession;
  /** Its place in the session. */
  readonly index: number;
  readonly entry: KeptEntry;
  /** Includes events that behaviors emitted; code that folds events skips those. */
  events: readonly QuittanceEvent[];
  written: (WrittenEntry & { readonly hash: string }) | undefined;
};

export class MemorySession {
  readonly sessionId: string;
  readonly entries: PagedList<MemoryEntry> = new PagedList();
  readonly calls: Map<string, MemoryCall> = new Map();
  readonly states: Map<string, StoredState> = new Map();
  readonly #inDoubt = new Map<string, string[]>();
  #written = 0;

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  get events(): QuittanceEvent[] {
    return this.entries.slice().flatMap(({ events }) => events);
  }

  get eventsWithoutCall(): QuittanceEvent[] {
    return this.entries.slice().flatMap(({ entry, events }) => (entry.callId === undefined ? events : []));
  }

  /** Adds an accepted entry, here and to the log. Returns the version of its call, or 0 for an entry without a call. */
  add(position: number, entry: KeptEntry, log: PagedList<MemoryEntry>): number {
    const events = entry.events as readonly QuittanceEvent[];
    const index = this.entries.length;
    const item: MemoryEntry = { position, session: this, index, entry, events, written: undefined };
    this.entries.push(item);
    log.push(item);
    return this.#apply(position, entry);
  }

  #apply(position: number, entry: KeptEntry): number {
    if (entry.moves !== undefined)
      for (const { subject, expectedVersion } of entry.moves)
        this.states.set(subject, {
          version: expectedVersion + 1,
          state: lastState(entry.events, subject),
        });
    const { callId } = entry;
    if (callId === undefined) return 0;
    let call = this.calls.get(callId);
    if (call === undefined) {
      const { depth } = entry;
      call = {
        position,
        depth,
        version: 0,
        earlier: none,
        latest: none,
        settled: false,
        sealed: undefined,
        claimKey: undefined,
        waiters: undefined,
      };
      this.calls.set(callId, call);
    }
    const added = eventsOf(entry, callId);
    call.earlier = allEvents(call);
    call.latest = added;
    for (const event of entry.events)
      if ('callId' in event && event.callId === callId && !isEmittedEvent(event))
        this.#note(call, event, callId);
    if (entry.sealed !== undefined) call.sealed = entry.sealed;
    if (entry.dropSealed === true) call.sealed = undefined;
    call.claimKey = entry.claim?.key ?? call.claimKey;
    if (entry.expectedVersion === 'any') return call.version;
    call.version++;
    const { waiters } = call;
    call.waiters = undefined;
    if (waiters !== undefined) for (const waiter of waiters) waiter.resolve();
    return call.version;
  }

  inDoubt(toolName: string, inputDigest: string): readonly string[] {
    if (this.#inDoubt.size === 0) return none;
    return this.#inDoubt.get(doubtKey(toolName, inputDigest))?.slice() ?? none;
  }

  /** Every call whose effect is unresolved. */
  *allInDoubt(): Generator<{ callId: string; toolName: string; inputDigest: string }, void, undefined> {
    for (const [key, calls] of this.#inDoubt) {
      const [inputDigest = '', ...toolName] = key.split('\n');
      for (const callId of calls) yield { callId, toolName: toolName.join('\n'), inputDigest };
    }
  }

  /** An entry of this session in its stored form. */
  read(index: number, ownerId: string, random: () => string): StoredEntry {
    this.#write(ownerId, random);
    const { position, written } = this.entries.get(index);
    return {
      position,
      sessionId: this.sessionId,
      sequence: index + 1,
      ...(written as NonNullable<MemoryEntry['written']>),
    };
  }

  /** The end of the chain, or its end when it had `length` entries. */
  head(ownerId: string, random: () => string, length: number = this.entries.length): Head {
    const { sessionId } = this;
    this.#write(ownerId, random);
    return {
      sessionId,
      sequence: length,
      hash: length === 0 ? genesisHash(sessionId) : this.#hashAt(length - 1),
    };
  }

  /** Empties the bodies of an entry. False if there are none. */
  erase(item: MemoryEntry, ownerId: string, random: () => string): boolean {
    this.#write(ownerId, random);
    if (item.written?.bodies === undefined) return false;
    item.written = { ...item.written, bodies: undefined, salt: undefined };
    item.events = readEntry(item.written).events as readonly QuittanceEvent[];
    const { callId } = item.entry;
    const call = callId === undefined ? undefined : this.calls.get(callId);
    if (call === undefined) return true;
    call.sealed = undefined;
    call.latest = none;
    call.earlier = this.entries
      .slice()
      .filter(({ entry }) => entry.callId === callId)
      .flatMap(({ events }) => events.filter((event) => 'callId' in event && event.callId === callId));
    return true;
  }

  #write(ownerId: string, random: () => string): void {
    for (; this.#written < this.entries.length; this.#written++) {
      const item = this.entries.get(this.#written);
      const previous = this.#written === 0 ? genesisHash(this.sessionId) : this.#hashAt(this.#written - 1);
      const written = writeEntry(item.entry, ownerId, random);
      item.written = { ...written, hash: chainHash(previous, this.#written + 1, written.text) };
    }
  }

  #hashAt(index: number): string {
    const { written } = this.entries.get(index);
    return (written as NonNullable<typeof written>).hash;
  }

  #note(call: MemoryCall, event: QuittanceEvent, callId: string): void {
    if (event.type === 'tool.responded' && event.final) call.settled = true;
    if (leavesUnsettledEffect(event)) {
      const digest = lastInputDigest(allEvents(call), callId);
      if (digest === undefined) return;
      const key = doubtKey(event.outcome.toolName, digest);
      const calls = this.#inDoubt.get(key);
      if (calls === undefined) this.#inDoubt.set(key, [callId]);
      else calls.push(callId);
    } else if (clearsUnsettledEffect(event))
      for (const [key, calls] of this.#inDoubt)
        this.#inDoubt.set(
          key,
          calls.filter((other) => other !== callId),
        );
  }
}

/** The events of a call, in order. */
export function allEvents({ earlier, latest }: MemoryCall): readonly QuittanceEvent[] {
  if (earlier.length === 0) return latest;
  return latest.length === 0 ? earlier : earlier.concat(latest);
}

/** The events of a call in an entry: the entry's own list if it has no others. Includes events of behaviors. */
function eventsOf({ events }: KeptEntry, callId: string): readonly QuittanceEvent[] {
  for (const event of events) if (!isAbout(event, callId)) return eventsAbout(events, callId);
  return events as readonly QuittanceEvent[]; // see `MemoryEntry`
}

/** A function of its own: a function with a closure allocates its variables even if it makes none. */
const eventsAbout = (events: KeptEntry['events'], callId: string): readonly QuittanceEvent[] =>
  events.filter((event) => isAbout(event, callId)) as readonly QuittanceEvent[]; // see `MemoryEntry`

const isAbout = (event: KeptEntry['events'][number], callId: string): boolean =>
  'callId' in event && event.callId === callId;

const none: readonly never[] = Object.freeze([]);

const doubtKey = (toolName: string, inputDigest: string): string => `${inputDigest}\n${toolName}`;
