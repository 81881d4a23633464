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
import {
  clearsUnsettledEffect,
  lastInputDigest,
  leavesUnsettledEffect,
} from '../../ledger/unsettled-effect.ts';

export type MemoryCall = {
  /** Position of its first entry. */
  readonly position: number;
  readonly depth: number | undefined;
  version: number;
  /** Never changed: it may be the list of an entry. */
  events: readonly QuittanceEvent[];
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
  readonly entries: MemoryEntry[] = [];
  readonly calls: Map<string, MemoryCall> = new Map();
  readonly states: Map<string, StoredState> = new Map();
  readonly #inDoubt = new Map<string, string[]>();
  #written = 0;

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  get events(): QuittanceEvent[] {
    return this.entries.flatMap(({ events }) => events);
  }

  get eventsWithoutCall(): QuittanceEvent[] {
    return this.entries.flatMap(({ entry, events }) => (entry.callId === undefined ? events : []));
  }

  /** Adds an accepted entry. `version`: of its call, or 0 for an entry without a call. */
  add(position: number, entry: KeptEntry): { readonly item: MemoryEntry; readonly version: number } {
    const events = entry.events as readonly QuittanceEvent[];
    const index = this.entries.length;
    const item: MemoryEntry = { position, session: this, index, entry, events, written: undefined };
    this.entries.push(item);
    return { item, version: this.#apply(position, entry) };
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
        events: none,
        settled: false,
        sealed: undefined,
        claimKey: undefined,
        waiters: undefined,
      };
      this.calls.set(callId, call);
    }
    const added = eventsOf(entry, callId);
    // Most calls have one entry. A list that grows by `push` reserves room for many more.
    call.events = call.events.length === 0 ? added : call.events.concat(added);
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
    if (waiters !== undefined) for (const { resolve } of waiters) resolve();
    return call.version;
  }

  inDoubt(toolName: string, inputDigest: string): readonly string[] {
    return this.#inDoubt.get(doubtKey(toolName, inputDigest))?.slice() ?? [];
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
    const { position, written } = this.entries[index] as MemoryEntry;
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
    call.events = this.entries
      .filter(({ entry }) => entry.callId === callId)
      .flatMap(({ events }) => events.filter((event) => 'callId' in event && event.callId === callId));
    return true;
  }

  #write(ownerId: string, random: () => string): void {
    for (; this.#written < this.entries.length; this.#written++) {
      const item = this.entries[this.#written] as MemoryEntry;
      const previous = this.#written === 0 ? genesisHash(this.sessionId) : this.#hashAt(this.#written - 1);
      const written = writeEntry(item.entry, ownerId, random);
      item.written = { ...written, hash: chainHash(previous, this.#written + 1, written.text) };
    }
  }

  #hashAt(index: number): string {
    const { written } = this.entries[index] as MemoryEntry;
    return (written as NonNullable<typeof written>).hash;
  }

  #note(call: MemoryCall, event: QuittanceEvent, callId: string): void {
    if (event.type === 'tool.responded' && event.final) call.settled = true;
    if (leavesUnsettledEffect(event)) {
      const digest = lastInputDigest(call.events, callId);
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

/** The events of a call in an entry: the entry's own list if it has no others. Includes events of behaviors. */
function eventsOf({ events }: KeptEntry, callId: string): readonly QuittanceEvent[] {
  for (const each of events)
    if (!isAbout(each, callId))
      return events.filter((event) => isAbout(event, callId)) as readonly QuittanceEvent[]; // see `MemoryEntry`
  return events as readonly QuittanceEvent[];
}

const isAbout = (event: KeptEntry['events'][number], callId: string): boolean =>
  'callId' in event && event.callId === callId;

const none: readonly QuittanceEvent[] = [];

const doubtKey = (toolName: string, inputDigest: string): string => `${inputDigest}\n${toolName}`;
