/**
 * A third store, to show how little one needs: a file of JSON lines. All of it is in memory, and a change is on disk
 * before its caller gets the answer. One process may have the file open. For tests: it reads the whole file when it opens.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import type { Clock } from '../../packages/quittance/src/base/deadlines.ts';
import { createIds } from '../../packages/quittance/src/base/ids.ts';
import { contentBytes, contentDigest } from '../../packages/quittance/src/base/content-digest.ts';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import { freezeJson } from '../../packages/quittance/src/base/json.ts';
import type { QuittanceEvent } from '../../packages/quittance/src/call/event.ts';
import type { NewArtifact } from '../../packages/quittance/src/ledger/artifacts.ts';
import type { Page } from '../../packages/quittance/src/ledger/call-query.ts';
import type { Head } from '../../packages/quittance/src/ledger/chain.ts';
import { chainHash, genesisHash } from '../../packages/quittance/src/ledger/chain.ts';
import type { ClaimHolder, Counter, CounterTotal } from '../../packages/quittance/src/ledger/claims.ts';
import { sessionCounterPrefixes } from '../../packages/quittance/src/ledger/claims.ts';
import type { Cursor } from '../../packages/quittance/src/ledger/cursors.ts';
import { takesOn } from '../../packages/quittance/src/ledger/fold-stored.ts';
import type { ReadEntry } from '../../packages/quittance/src/ledger/formats/v1/read-entry.ts';
import { readEntry } from '../../packages/quittance/src/ledger/formats/v1/read-entry.ts';
import { writeEntry } from '../../packages/quittance/src/ledger/formats/v1/write-entry.ts';
import type { AppendResult, Entry, StoredState } from '../../packages/quittance/src/ledger/journal.ts';
import { lastState } from '../../packages/quittance/src/ledger/last-state.ts';
import type { Ledger, OpenLedger, RowReaders } from '../../packages/quittance/src/ledger/ledger.ts';
import { ledgerSessionId } from '../../packages/quittance/src/ledger/ledger.ts';
import { erasureEntry, removalEntry } from '../../packages/quittance/src/ledger/own-entry.ts';
import {
  clearsUnsettledEffect,
  closedError,
  inUseError,
  lastInputDigest,
  leavesUnsettledEffect,
  refuseEntry,
  refuseErasure,
} from '../../packages/quittance/src/ledger/prepare-entry.ts';
import type { ScannedCall, ScannedSession } from '../../packages/quittance/src/ledger/scan-rows.ts';
import { scanRows } from '../../packages/quittance/src/ledger/scan-rows.ts';
import type { SideRow } from '../../packages/quittance/src/ledger/side-row.ts';
import type { StoredEntry } from '../../packages/quittance/src/ledger/stored-entry.ts';
import type { Waiter } from '../../packages/quittance/src/ledger/until-woken.ts';
import { untilWoken } from '../../packages/quittance/src/ledger/until-woken.ts';

/** A line of the file. What an entry states in its text is not stated again. */
type Line =
  | (Omit<StoredEntry, 'sessionId'> & { readonly kind: 'entry' } & Pick<
        Entry,
        'sealed' | 'dropSealed' | 'cursor'
      >)
  | (Omit<NewArtifact, 'content'> & {
      readonly kind: 'artifact';
      readonly text?: string;
      readonly base64?: string;
    })
  | { readonly kind: 'cursor'; readonly name: string; readonly next: Cursor | undefined }
  | { readonly kind: 'forgotten'; readonly ownerId: string }
  /** The last position and the counters: after a removal, the entries that are left do not state them. */
  | { readonly kind: 'counters'; readonly position: number; readonly counters: readonly CounterTotal[] };

type Item = Omit<ReadEntry, 'events'> & {
  readonly stored: StoredEntry;
  readonly events: readonly QuittanceEvent[];
};
type Call = {
  readonly callId: string;
  readonly position: number;
  readonly depth: number;
  ownerId: string;
  version: number;
  claimKey: string | undefined;
  sealed: string | undefined;
};
type Session = {
  readonly items: Item[];
  readonly calls: Map<string, Call>;
  readonly states: Map<string, StoredState>;
};

export function openJsonLinesLedger(path: string, clock: Clock, sealKey: Uint8Array): OpenLedger {
  return new JsonLinesLedger(path, clock, sealKey);
}

class JsonLinesLedger implements OpenLedger {
  readonly ownerId: string;
  readonly now: () => number;
  readonly sealKey: Uint8Array;
  readonly runtimes = new Set<never>();
  readonly spill = {
    write: async () => false,
    canWrite: async () => undefined,
    read: async () => [],
    drop: async () => true,
  };
  readonly #path: string;
  readonly #ids = createIds();
  readonly #sessions = new Map<string, Session>();
  readonly #items: Item[] = [];
  readonly #claims = new Map<string, ClaimHolder>();
  readonly #counters = new Map<string, Counter>();
  readonly #cursors = new Map<string, Cursor>();
  readonly #artifacts = new Map<string, NewArtifact>();
  readonly #forgotten = new Set<string>();
  /** The position of the newest entry, which may be removed. */
  #position = 0;
  readonly #waiters = new Set<Waiter<() => boolean>>();
  readonly #rows: RowReaders = this.#readers();
  #file: number | undefined;

  constructor(path: string, clock: Clock, sealKey: Uint8Array) {
    this.#path = path;
    this.ownerId = this.#ids.secret('own');
    this.now = clock.now.bind(clock);
    this.sealKey = sealKey;
    // A line without its end was never answered.
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    for (const line of lines) this.#apply(JSON.parse(line) as Line); // our own file
    this.#rewrite();
  }

  readonly append: Ledger['append'] = async (entry) => {
    refuseEntry(entry);
    return this.#refuse(entry) ?? { status: 'appended', version: this.#keep(entry) };
  };

  readonly readCall: Ledger['readCall'] = async (sessionId, callId) => {
    const call = this.#call(sessionId, callId);
    if (call === undefined) return undefined;
    const { version, ownerId, depth, claimKey } = call;
    return {
      version,
      ownerId,
      events: this.#eventsOf(sessionId, callId),
      ...(depth > 0 && { depth }),
      ...(claimKey !== undefined && { claimKey }),
    };
  };

  readonly readSession: Ledger['readSession'] = async (sessionId) =>
    this.#itemsOf(sessionId).flatMap(({ events }) => events);

  readonly readEntries: Ledger['readEntries'] = async ({ after = 0, sessionId, limit }) =>
    (sessionId === undefined ? this.#items : this.#itemsOf(sessionId))
      .filter(({ stored }) => stored.position > after)
      .slice(0, limit)
      .map(({ stored }) => stored);

  readonly query: Ledger['query'] = (name, query) => this.#rows[name](query);

  readonly whenChanged: Ledger['whenChanged'] = async (awaited, signal) => {
    const isOver =
      'after' in awaited
        ? () => this.#position > awaited.after
        : () => this.#call(awaited.sessionId, awaited.callId)?.version !== awaited.version;
    if (!isOver()) await untilWoken(this.#waiters, isOver, signal);
  };

  readonly putArtifact: Ledger['putArtifact'] = async ({ content, ...artifact }) =>
    this.#write({
      kind: 'artifact',
      ...artifact,
      ...(typeof content === 'string'
        ? { text: content }
        : { base64: Buffer.from(content).toString('base64') }),
    });

  readonly readArtifact: Ledger['readArtifact'] = async (sessionId, artifactId, range) => {
    const found = this.#artifacts.get(JSON.stringify([sessionId, artifactId]));
    if (found === undefined) return undefined;
    const { content, mimeType, callId } = found;
    const encoding = typeof content !== 'string' ? 'bytes' : content.isWellFormed() ? 'utf8' : 'utf16le';
    const whole = contentBytes(content);
    const { from, most } = range ?? { from: 0, most: whole.byteLength };
    return { mimeType, encoding, callId, size: whole.byteLength, bytes: whole.subarray(from, from + most) };
  };

  readonly setCursor: Ledger['setCursor'] = async ({ name, expected, next }) => {
    if (this.#file === undefined) throw closedError();
    const found = this.#cursors.get(name);
    if (found?.holder !== expected?.holder || found?.position !== expected?.position) return false;
    const ownerId = next?.holder === undefined ? undefined : this.ownerId;
    this.#write({ kind: 'cursor', name, next: next && { name, ...next, ownerId } });
    return true;
  };

  readonly forgetOwner: Ledger['forgetOwner'] = async (ownerId) =>
    this.#write({ kind: 'forgotten', ownerId });

  readonly erase: Ledger['erase'] = async (erasure) => {
    refuseErasure(erasure);
    const { sessionId, entryIds } = erasure;
    const session = this.#sessions.get(sessionId);
    const items = this.#itemsOf(sessionId).filter(({ entryId }) => entryIds?.includes(entryId) ?? true);
    this.#refuseOpen(
      sessionId,
      items.map(({ callId }) => callId),
    );
    const erased = items.filter(({ stored }) => stored.bodies !== undefined);
    if (session === undefined || erased.length === 0) return 0;
    for (const item of erased) this.#replace(item, { ...item.stored, bodies: undefined, salt: undefined });
    const callIds = new Set(erased.map(({ callId }) => callId));
    for (const [key, { sessionId: its, callId }] of this.#artifacts)
      if (its === sessionId && callIds.has(callId)) this.#artifacts.delete(key);
    for (const callId of callIds) {
      const call = callId === undefined ? undefined : session.calls.get(callId);
      if (call !== undefined) call.sealed = undefined;
    }
    if (entryIds === undefined)
      for (const [subject, { version }] of session.states)
        session.states.set(subject, { version, state: {} });
    this.#keep(
      erasureEntry(
        erasure,
        erased.map(({ entryId }) => entryId),
        this.now(),
        this.#ids,
      ),
    );
    this.#rewrite();
    return erased.length;
  };

  readonly dropSession: Ledger['dropSession'] = async (removal) => {
    refuseErasure(removal);
    const { sessionId } = removal;
    const session = this.#sessions.get(sessionId);
    if (session === undefined || sessionId === ledgerSessionId) return false;
    const head = headOf(sessionId, session.items);
    if ((removal.lastHash ?? head.hash) !== head.hash) return false;
    this.#refuseOpen(sessionId, [...session.calls.keys()]);
    this.#sessions.delete(sessionId);
    for (const item of session.items) this.#items.splice(this.#items.indexOf(item), 1);
    for (const [key, artifact] of this.#artifacts)
      if (artifact.sessionId === sessionId) this.#artifacts.delete(key);
    for (const [key, holder] of this.#claims) if (holder.sessionId === sessionId) this.#claims.delete(key);
    const prefixes = sessionCounterPrefixes(sessionId);
    for (const name of this.#counters.keys())
      if (prefixes.some((prefix) => name.startsWith(prefix))) this.#counters.delete(name);
    this.#keep(removalEntry(removal, head, this.now(), this.#ids));
    this.#rewrite();
    return true;
  };

  // eslint-disable-next-line require-yield -- there is nothing to compare
  readonly inspect: Ledger['inspect'] = async function* () {
    return;
  };

  readonly rebuild: OpenLedger['rebuild'] = async () => [];

  readonly close: Ledger['close'] = async () => {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  };

  #itemsOf(sessionId: string): readonly Item[] {
    return this.#sessions.get(sessionId)?.items ?? [];
  }

  #call(sessionId: string, callId: string): Call | undefined {
    return this.#sessions.get(sessionId)?.calls.get(callId);
  }

  #eventsOf(sessionId: string, callId: string): readonly QuittanceEvent[] {
    return this.#itemsOf(sessionId)
      .filter((item) => item.callId === callId)
      .flatMap(({ events }) => events.filter((event) => 'callId' in event && event.callId === callId));
  }

  #isOpen(sessionId: string, callId: string): boolean {
    const events = this.#eventsOf(sessionId, callId);
    return !events.some((event) => event.type === 'tool.responded' && event.final);
  }

  #refuseOpen(sessionId: string, callIds: readonly (string | undefined)[]): void {
    for (const callId of callIds)
      if (callId !== undefined && this.#isOpen(sessionId, callId)) throw inUseError(sessionId, callId);
  }

  #counter(name: string): Counter {
    return this.#counters.get(name) ?? { used: 0, reserved: 0 };
  }

  /** Why an entry may not be appended. */
  #refuse({ sessionId, callId, ...entry }: Entry): AppendResult | undefined {
    const call = callId === undefined ? undefined : this.#call(sessionId, callId);
    const version = call?.version ?? 0;
    const expected = entry.expectedVersion === 'any' ? call?.version : entry.expectedVersion;
    if (callId !== undefined && version !== expected) return { status: 'conflict', version };
    const holder = entry.claim && this.#claims.get(entry.claim.key);
    const over = entry.claim?.supersedes;
    if (holder !== undefined && (holder.callId !== over?.callId || holder.sessionId !== over.sessionId))
      return { status: 'claimed', holder };
    const taken = new Map<string, number>();
    for (const { counter, amount, limit } of entry.reserve ?? []) {
      const { used, reserved } = this.#counter(counter);
      const sum = used + reserved + (taken.get(counter) ?? 0);
      if (sum + amount > limit) return { status: 'exhausted', counter, used: sum };
      taken.set(counter, (taken.get(counter) ?? 0) + amount);
    }
    for (const { subject, expectedVersion } of [...(entry.moves ?? []), ...(entry.guards ?? [])]) {
      const stored = this.#sessions.get(sessionId)?.states.get(subject)?.version ?? 0;
      if (stored !== expectedVersion) return { status: 'moved', subject, version: stored };
    }
    const cursor = entry.cursor && this.#cursors.get(entry.cursor.name);
    if (
      entry.cursor !== undefined &&
      (cursor?.holder !== entry.cursor.holder || cursor.position !== entry.cursor.from)
    )
      return { status: 'displaced', holder: cursor?.holder, position: cursor?.position ?? 0 };
    return undefined;
  }

  /** Writes an entry that was not refused. Returns the version of its call. */
  #keep(entry: Entry): number {
    const totals = new Map<string, Counter>();
    const count = (name: string, used: number, reserved: number): void => {
      const before = totals.get(name) ?? this.#counter(name);
      totals.set(name, { used: before.used + used, reserved: before.reserved + reserved });
    };
    for (const { counter, amount } of entry.reserve ?? []) count(counter, 0, amount);
    for (const { counter, used, reserved, reset } of entry.settle ?? []) {
      const before = reset === true ? (totals.get(counter) ?? this.#counter(counter)).used : 0;
      count(counter, used - before, -reserved);
    }
    const written = writeEntry(
      { ...entry, totals: [...totals].map(([counter, total]) => ({ counter, ...total })) },
      this.ownerId,
      () => randomBytes(18).toString('base64url'),
    );
    const { sequence, hash } = headOf(entry.sessionId, this.#itemsOf(entry.sessionId));
    const { sealed, dropSealed, cursor } = entry;
    this.#write({
      kind: 'entry',
      position: this.#position + 1,
      sequence: sequence + 1,
      hash: chainHash(hash, sequence + 1, written.text),
      ...written,
      sealed,
      dropSealed,
      cursor,
    });
    return entry.callId === undefined ? 0 : (this.#call(entry.sessionId, entry.callId)?.version ?? 0);
  }

  /** On disk first. A line that failed may be there in part, so nothing is written after it. */
  #write(line: Line): void {
    const file = this.#file;
    if (file === undefined) throw closedError();
    this.#file = undefined;
    writeSync(file, `${JSON.stringify(line)}\n`);
    fsyncSync(file);
    this.#file = file;
    this.#apply(line);
    for (const waiter of this.#waiters)
      if (waiter.awaited()) {
        this.#waiters.delete(waiter);
        waiter.resolve();
      }
  }

  /** Writes everything anew, so that nothing that was removed stays in the file. */
  #rewrite(): void {
    const file = openSync(`${this.#path}.new`, 'w', 0o600);
    for (const line of this.#lines()) writeSync(file, `${JSON.stringify(line)}\n`);
    fsyncSync(file);
    renameSync(`${this.#path}.new`, this.#path);
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = file;
  }

  *#lines(): Generator<Line, void> {
    for (const { stored, sessionId, callId } of this.#items) {
      const call = callId === undefined ? undefined : this.#call(sessionId, callId);
      // The last entry of a call may state its sealed input as well as the one that brought it.
      yield {
        kind: 'entry',
        ...stored,
        sealed: call?.sealed,
        dropSealed: call !== undefined && call.sealed === undefined,
      };
    }
    for (const { content, ...artifact } of this.#artifacts.values())
      yield {
        kind: 'artifact',
        ...artifact,
        ...(typeof content === 'string'
          ? { text: content }
          : { base64: Buffer.from(content).toString('base64') }),
      };
    for (const [name, next] of this.#cursors) yield { kind: 'cursor', name, next };
    for (const ownerId of this.#forgotten) yield { kind: 'forgotten', ownerId };
    yield {
      kind: 'counters',
      position: this.#position,
      counters: [...this.#counters].map(([counter, total]) => ({ counter, ...total })),
    };
  }

  #apply(line: Line): void {
    if (line.kind === 'entry') this.#applyEntry(line);
    else if (line.kind === 'forgotten') this.#forgotten.add(line.ownerId);
    else if (line.kind === 'artifact') {
      const { text, base64, kind: _, ...artifact } = line;
      const content = text ?? Buffer.from(base64 ?? '', 'base64');
      this.#artifacts.set(JSON.stringify([line.sessionId, line.artifactId]), { ...artifact, content });
    } else if (line.kind === 'counters') {
      this.#position = line.position;
      this.#counters.clear();
      for (const { counter, used, reserved } of line.counters)
        this.#counters.set(counter, { used, reserved });
    } else if (line.next === undefined) this.#cursors.delete(line.name);
    else this.#cursors.set(line.name, line.next);
  }

  #applyEntry({
    position,
    sequence,
    text,
    bodies,
    salt,
    hash,
    ...side
  }: Extract<Line, { kind: 'entry' }>): void {
    const { sealed, dropSealed, cursor } = side;
    const entry = readEntry({ text, bodies });
    const { sessionId, callId } = entry;
    let session = this.#sessions.get(sessionId);
    if (session === undefined)
      this.#sessions.set(sessionId, (session = { items: [], calls: new Map(), states: new Map() }));
    const item: Item = {
      ...entry,
      events: frozen(entry.events),
      stored: { position, sessionId, sequence, text, bodies, salt, hash },
    };
    session.items.push(item);
    this.#items.push(item);
    this.#position = position;
    for (const { subject, expectedVersion } of entry.moves ?? [])
      session.states.set(subject, {
        version: expectedVersion + 1,
        state: entry.erased ? {} : lastState(entry.events, subject),
      });
    for (const { counter, used, reserved } of entry.totals ?? [])
      this.#counters.set(counter, { used, reserved });
    if (entry.releaseClaim !== undefined) this.#claims.delete(entry.releaseClaim);
    const found = cursor && this.#cursors.get(cursor.name);
    if (cursor !== undefined && found !== undefined)
      this.#cursors.set(cursor.name, { ...found, position: cursor.to });
    if (callId === undefined) return;
    const { claim, ownerId, depth } = entry;
    let call = session.calls.get(callId);
    if (call === undefined) {
      call = { callId, position, depth, ownerId, version: 0, claimKey: undefined, sealed: undefined };
      session.calls.set(callId, call);
    }
    if (claim !== undefined)
      this.#claims.set(claim.key, { sessionId, callId, inputDigest: claim.inputDigest });
    call.claimKey = claim?.key ?? call.claimKey;
    call.sealed = dropSealed === true ? undefined : (sealed ?? call.sealed);
    if (entry.expectedVersion === 'any') return;
    call.version++;
    if (takesOn(item.events)) call.ownerId = ownerId;
  }

  #replace(item: Item, stored: StoredEntry): void {
    const next: Item = { ...item, stored, events: frozen(readEntry(stored).events) };
    this.#items.splice(this.#items.indexOf(item), 1, next);
    const items = this.#sessions.get(item.sessionId)?.items;
    items?.splice(items.indexOf(item), 1, next);
  }

  *#scan(): Generator<ScannedSession, void> {
    for (const [sessionId, { items, calls }] of this.#sessions)
      yield {
        sessionId,
        position: items[0]?.stored.position ?? 0,
        events: items.flatMap(({ events }) => events),
        calls: [...calls.values()].map(({ callId, position, ownerId }): ScannedCall => ({
          callId,
          position,
          ownerId,
          isOpen: this.#isOpen(sessionId, callId),
          events: this.#eventsOf(sessionId, callId),
        })),
      };
  }

  /** The calls of a session whose effect may have happened unseen. */
  #unsettled(sessionId: string): { callId: string; toolName: string; inputDigest: string }[] {
    const found = new Map<string, { callId: string; toolName: string; inputDigest: string }>();
    for (const { events } of this.#itemsOf(sessionId))
      for (const event of events)
        if (leavesUnsettledEffect(event)) {
          const { callId, outcome } = event;
          const inputDigest = lastInputDigest(this.#eventsOf(sessionId, callId), callId);
          if (inputDigest !== undefined)
            found.set(callId, { callId, toolName: outcome.toolName, inputDigest });
        } else if (clearsUnsettledEffect(event)) found.delete(event.callId);
    return [...found.values()];
  }

  *#sideRows(): Generator<SideRow, void> {
    for (const [key, holder] of this.#claims) yield { kind: 'claim', key, ...holder };
    for (const [name, counter] of this.#counters) yield { kind: 'counter', name, ...counter };
    for (const [sessionId, { calls, states }] of this.#sessions) {
      for (const effect of this.#unsettled(sessionId)) yield { kind: 'unsettled', sessionId, ...effect };
      for (const [subject, { version, state }] of states)
        yield { kind: 'state', sessionId, subject, version, text: JSON.stringify(state) };
      for (const { callId, sealed } of calls.values())
        if (sealed !== undefined) yield { kind: 'sealed', sessionId, callId };
    }
    for (const { sessionId, callId, artifactId, content } of this.#artifacts.values()) {
      const sizeBytes = contentBytes(content).byteLength;
      yield { kind: 'artifact', sessionId, callId, artifactId, sizeBytes, digest: contentDigest(content) };
    }
  }

  #readers(): RowReaders {
    const sizeOf = ({ stored }: Item): number => stored.text.length + (stored.bodies?.length ?? 0);
    return {
      ...scanRows(() => this.#scan()),
      claims: async ({ key }) => page([this.#claims.get(key)]),
      counters: async ({ names }) => page(names.map((name) => this.#counter(name))),
      unsettled: async ({ sessionId, toolName, inputDigest }) =>
        page(
          this.#unsettled(sessionId)
            .filter((effect) => effect.toolName === toolName && effect.inputDigest === inputDigest)
            .map(({ callId }) => callId),
        ),
      states: async ({ sessionId, subject }) => page([this.#sessions.get(sessionId)?.states.get(subject)]),
      sealed: async ({ sessionId, callId }) => page([this.#call(sessionId, callId)?.sealed]),
      cursors: async ({ name }) =>
        page(
          [...this.#cursors.values()]
            .filter((cursor) => name === undefined || cursor.name === name)
            .toSorted((left, right) => (left.name < right.name ? -1 : 1)),
        ),
      owners: async (query) => {
        if ('ownerId' in query) {
          const isAlive = query.ownerId === this.ownerId && this.#file !== undefined;
          return page([{ ownerId: query.ownerId, status: isAlive ? 'alive' : 'gone' }]);
        }
        const gone = new Set(this.#items.map(({ ownerId }) => ownerId)).difference(this.#forgotten);
        gone.delete(this.ownerId);
        return page([...gone].map((ownerId) => ({ ownerId, status: 'gone' as const })));
      },
      heads: async (query) => {
        if (!('limit' in query))
          return page([
            this.#sessions.has(query.sessionId)
              ? headOf(query.sessionId, this.#itemsOf(query.sessionId))
              : undefined,
          ]);
        const { after, limit, at = this.#position } = query;
        const heads = [...this.#sessions]
          .filter(([sessionId]) => after === undefined || sessionId > after)
          .map(([sessionId, { items }]) =>
            headOf(
              sessionId,
              items.filter(({ stored }) => stored.position <= at),
            ),
          )
          .filter(({ sequence }) => sequence > 0)
          .toSorted((left, right) => (left.sessionId < right.sessionId ? -1 : 1));
        return page(heads.slice(0, limit));
      },
      sizes: async (query) => {
        const { sessionId } = query;
        if (!('limit' in query)) {
          const items = this.#itemsOf(query.sessionId).filter(({ callId }) => callId === query.callId);
          return page([
            {
              position: 0,
              sessionId: query.sessionId,
              bytes: items.reduce((sum, item) => sum + sizeOf(item), 0),
            },
          ]);
        }
        const items = sessionId === undefined ? this.#items : this.#itemsOf(sessionId);
        const found = items
          .filter(({ stored }) => stored.position > (query.after ?? 0))
          .slice(0, query.limit);
        return page(
          found.map((item) => ({
            position: item.stored.position,
            sessionId: item.sessionId,
            bytes: sizeOf(item),
          })),
        );
      },
      end: async () => page([{ position: this.#position, sessions: this.#sessions.size }]),
      side_rows: async () => page([...this.#sideRows()]),
    };
  }
}

/** Events that `append` wrote. Readers get them as they are kept. */
function frozen(events: ReadEntry['events']): readonly QuittanceEvent[] {
  for (const event of events) freezeJson(event as unknown as JsonObject); // events are JSON except for undefined
  return events as readonly QuittanceEvent[];
}

const page = <Row>(rows: readonly (Row | undefined)[]): Page<Row> => ({
  rows: rows.filter((row) => row !== undefined),
  next: undefined,
});

function headOf(sessionId: string, items: readonly Item[]): Head {
  const last = items.at(-1)?.stored;
  return { sessionId, sequence: last?.sequence ?? 0, hash: last?.hash ?? genesisHash(sessionId) };
}
