/**
 * A ledger in one SQLite file, for any number of processes of one machine. Everything is read and written by
 * synchronous calls of a few microseconds; only the flush to disk takes longer, and all who write share it.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { systemClock } from '../../base/clock.ts';
import { createIds } from '../../base/ids.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type { BesideRow } from '../../ledger/beside.ts';
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from '../../ledger/call-query.ts';
import type { CallTally, TallyName, TallyQuery } from '../../ledger/call-tally.ts';
import type { Head, HeadQuery } from '../../ledger/chain.ts';
import type { ConfirmationQuery, ConfirmationSummary } from '../../ledger/confirmation-query.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type {
  AppendResult,
  ArtifactFacts,
  ClaimHolder,
  Counter,
  Cursor,
  CursorMove,
  CursorTake,
  Entry,
  Erasure,
  Ledger,
  NewArtifact,
  OpenCall,
  OpenCallQuery,
  OwnerStatus,
  Removal,
  Spilled,
  StoredArtifact,
  StoredCall,
  StoredState,
  SessionScope,
} from '../../ledger/ledger.ts';
import { refuseEntry } from '../../ledger/refuse-entry.ts';
import type { OwnFile } from '../../policy/own-files/own-file.ts';
import type { StoreFinding } from '../../ledger/store-finding.ts';
import type { EntryQuery, EntrySize, StoredEntry } from '../../ledger/stored-entry.ts';
import { lastInputDigest } from '../../ledger/unsettled-effect.ts';
import { AppendJob, Appender } from './append-job.ts';
import { ArtifactTable } from './artifact-table.ts';
import { listBeside } from './beside-rows.ts';
import { CursorTable } from './cursor-table.ts';
import { toDamage } from './damaged-file.ts';
import type { Database } from './database.ts';
import { prepareValue } from './database.ts';
import { EntryTable } from './entry-table.ts';
import { HeadPages } from './head-pages.ts';
import { Heads } from './heads.ts';
import { inspectFile } from './inspect.ts';
import { Marks } from './marks.ts';
import { OwnFiles } from './own-files.ts';
import { Owners } from './owners.ts';
import { ReadTables } from './read-tables.ts';
import { Retention } from './retention.ts';
import { createSalts } from './salts.ts';
import { readSealKey } from './seal-key-file.ts';
import { rebuildSideTables } from './side-rebuild.ts';
import type { AskedFor } from './side-tables.ts';
import { SideTables } from './side-tables.ts';
import { SpillFile } from './spill-file.ts';
import type { SqliteLedgerOptions, SqliteTuning } from './sqlite-ledger-options.ts';
import { measuredTuning } from './sqlite-ledger-options.ts';
import { Watch } from './watch.ts';
import { Writer } from './writer.ts';

export class SqliteLedger implements Ledger {
  readonly ownerId: string;
  readonly ownFiles: readonly OwnFile[];
  readonly inHand: Map<string, number> = new Map();
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #path: string;
  #sealKey: Uint8Array | undefined;
  readonly #owners: Owners;
  readonly #spill: SpillFile | undefined;
  readonly #files: OwnFiles;
  readonly #heads: Heads;
  readonly #headPages: HeadPages;
  readonly #entries: EntryTable;
  readonly #side: SideTables;
  readonly #artifacts: ArtifactTable;
  readonly #appender: Appender;
  readonly #cursors: CursorTable;
  readonly #writer: Writer;
  readonly #watch: Watch;
  readonly #tables: ReadTables;
  readonly #retention: Retention;
  readonly #salt = createSalts();
  /** What calls that were read last ask for, and at which version. */
  readonly #lastRead = new Map<string, { readonly version: number; readonly asked: AskedFor }>();

  constructor(
    database: Database,
    path: string,
    options: SqliteLedgerOptions,
    tuning: SqliteTuning = measuredTuning,
  ) {
    this.#database = database;
    this.#path = path;
    this.ownFiles = [{ path: resolve(path), kind: 'ledger', access: 'sealed', withCompanions: true }];
    this.#clock = options.clock ?? systemClock;
    this.#sealKey = options.sealKey;
    this.#owners = new Owners(`${path}.owners`, options.readOnly === true);
    this.ownerId = this.#owners.ownId;
    if (options.readOnly !== true) {
      const bytes = options.spillBytes ?? 1_048_576;
      const ledgerId = prepareValue<string>(database, 'SELECT ledger_id FROM ledger').get() as string;
      const place = { folder: `${path}.spill`, ownerId: this.ownerId, ledgerId };
      this.#spill = new SpillFile(place, bytes, this.#salt);
    }
    this.#files = new OwnFiles(path, this.#owners.lock);
    this.#heads = new Heads(database, tuning.longestTail);
    this.#headPages = new HeadPages(database, this.#heads);
    this.#entries = new EntryTable(database, this.#heads);
    const marks = new Marks(database, this.#entries);
    this.#side = new SideTables(database, this.#heads, marks, (sessionId, callId) =>
      this.#askedFor(sessionId, callId),
    );
    this.#writer = new Writer(database, {
      began: () => {
        this.#files.requireUnchanged();
        return this.#heads.refreshNow();
      },
      ending: () => {
        if (this.#heads.isTailLong) this.#heads.indexTail();
      },
      committed: () => {
        this.#watch.endChanged(this.#heads.position);
        this.#tables.noteAppend();
      },
      rolledBack: () => this.#heads.forget(),
    });
    this.#cursors = new CursorTable(database, this.#writer, this.ownerId);
    this.#appender = new Appender(database, this.#heads, this.#side, marks, this.#cursors);
    this.#artifacts = new ArtifactTable(database, `${path}.artifacts`, this.#heads, this.#writer);
    this.#tables = new ReadTables(
      database,
      this.#entries,
      this.#heads,
      options.readOnly === true && (database.memory || !existsSync(`${path}.read`))
        ? ':memory:' // made for this handle: whoever only looks leaves nothing behind
        : `${path}.read`,
      tuning.threadLag,
    );
    this.#retention = new Retention(database, {
      entries: this.#entries,
      heads: this.#heads,
      side: this.#side,
      appender: this.#appender,
      artifacts: this.#artifacts,
      writer: this.#writer,
      ownerId: this.ownerId,
      marks,
      ids: createIds(),
      salt: this.#salt,
      now: () => this.#clock.now(),
    });
    const dataVersion = prepareValue<number>(database, 'PRAGMA data_version');
    this.#watch = new Watch({
      dataVersion: () => dataVersion.get() as number,
      position: () => this.#fresh().position,
      versionOf: (sessionId, callId) => {
        const head = this.#fresh().find(sessionId);
        return head === undefined ? 0 : this.#heads.versionOf(head, callId);
      },
    });
  }

  append(entry: Entry): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      refuseEntry(entry);
      const written = writeEntry(entry, this.ownerId, this.#salt);
      this.#writer.add(new AppendJob(this.#appender, this.#watch, entry, written, resolve, reject));
    });
  }

  readCall(sessionId: string, callId: string): StoredCall | undefined {
    const head = this.#fresh().find(sessionId);
    const stored = head && this.#entries.readCall(head, callId);
    if (stored !== undefined) this.#noteRead(sessionId, callId, stored);
    return stored;
  }

  measureCall(sessionId: string, callId: string): number {
    const head = this.#fresh().find(sessionId);
    return head === undefined ? 0 : this.#entries.measureCall(head, callId);
  }

  readSession(sessionId: string, scope: SessionScope = 'all'): readonly QuittanceEvent[] {
    const head = this.#fresh().find(sessionId);
    return head === undefined ? [] : this.#entries.readSession(head, scope);
  }

  readClaim(claimKey: string): ClaimHolder | undefined {
    this.#heads.refresh();
    return this.#side.readClaim(claimKey);
  }

  readCounters(names: readonly string[]): readonly Counter[] {
    this.#heads.refresh();
    return names.map((name) => this.#side.readCounter(name));
  }

  findUnsettledEffects(sessionId: string, toolName: string, inputDigest: string): readonly string[] {
    const heads = this.#fresh();
    const head = this.#side.hasUnsettled ? heads.find(sessionId) : undefined;
    return head === undefined ? [] : this.#side.findUnsettled(head, toolName, inputDigest);
  }

  whenChanged(sessionId: string, callId: string, version: number, signal?: AbortSignal): Promise<void> {
    return this.#watch.call(sessionId, callId, version, signal);
  }

  whenAppended(after: number, signal?: AbortSignal): Promise<void> {
    return this.#watch.end(after, signal);
  }

  lastPosition(): number {
    return this.#fresh().position;
  }

  readCursor(name: string): Cursor | undefined {
    return this.#cursors.read(name);
  }

  readCursors(): readonly Cursor[] {
    return this.#cursors.list();
  }

  takeCursor(take: CursorTake): Promise<Cursor> {
    return this.#cursors.take(take);
  }

  moveCursor(move: CursorMove): Promise<boolean> {
    return this.#cursors.move(move);
  }

  releaseCursor(name: string, holder: string): Promise<void> {
    return this.#cursors.release(name, holder);
  }

  dropCursor(name: string): Promise<boolean> {
    return this.#cursors.drop(name);
  }

  readState(sessionId: string, subject: string): StoredState | undefined {
    const head = this.#fresh().find(sessionId);
    return head && this.#side.readState(head, subject);
  }

  readSealed(sessionId: string, callId: string): string | undefined {
    const head = this.#fresh().find(sessionId);
    return head && this.#side.readSealed(head, callId);
  }

  putArtifact(artifact: NewArtifact): Promise<void> {
    return this.#artifacts.put(artifact);
  }

  readArtifact(sessionId: string, artifactId: string): Promise<StoredArtifact | undefined> {
    return this.#artifacts.read(this.#fresh().find(sessionId), artifactId);
  }

  measureArtifact(sessionId: string, artifactId: string): ArtifactFacts | undefined {
    return this.#artifacts.measure(this.#fresh().find(sessionId), artifactId);
  }

  readArtifactBytes(
    sessionId: string,
    artifactId: string,
    from: number,
    most: number,
  ): Promise<Uint8Array | undefined> {
    return this.#artifacts.readBytes(this.#fresh().find(sessionId), artifactId, from, most);
  }

  measureEntries(query: EntryQuery): readonly EntrySize[] {
    if (query.sessionId === undefined) return this.#entries.measure(query, undefined);
    const head = this.#fresh().find(query.sessionId);
    return head === undefined ? [] : this.#entries.measure(query, head);
  }

  readEntries(query: EntryQuery): readonly StoredEntry[] {
    if (query.sessionId === undefined) return this.#entries.read(query, undefined);
    const head = this.#fresh().find(query.sessionId);
    return head === undefined ? [] : this.#entries.read(query, head);
  }

  queryCalls(query: CallQuery): Promise<Page<CallSummary>> {
    return this.#tables.queryCalls(query);
  }

  tallyCalls<Name extends TallyName>(query: TallyQuery<Name>): Promise<readonly CallTally<Name>[]> {
    return this.#tables.tallyCalls(query);
  }

  querySessions(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#tables.querySessions(query);
  }

  queryConfirmations(query: ConfirmationQuery): Promise<Page<ConfirmationSummary>> {
    return this.#tables.queryConfirmations(query);
  }

  findConfirmation(confirmationId: string): Promise<ConfirmationSummary | undefined> {
    return this.#tables.findConfirmation(confirmationId);
  }

  findOpenCalls(query: OpenCallQuery = {}): Promise<readonly OpenCall[]> {
    return this.#tables.findOpenCalls(query);
  }

  readBeside(): AsyncIterable<BesideRow> {
    return listBeside(this.#database);
  }

  inspect(signal: AbortSignal): AsyncIterable<StoreFinding> {
    return inspectFile(this.#path, signal);
  }

  readHeads(of?: string): readonly Head[] {
    const heads = this.#fresh();
    const one = of === undefined ? undefined : heads.find(of);
    const found = of === undefined ? heads.all() : one === undefined || one.sequence === 0 ? [] : [one];
    return found.map(({ sessionId, sequence, hash }) => ({ sessionId, sequence, hash }));
  }

  queryHeads(query: HeadQuery): readonly Head[] {
    return this.#headPages.read(query);
  }

  countSessions(): number {
    return this.#headPages.count();
  }

  erase(erasure: Erasure): Promise<number> {
    return this.#retention.erase(erasure);
  }

  dropSession(removal: Removal): Promise<boolean> {
    return this.#retention.dropSession(removal);
  }

  async rebuild(): Promise<readonly string[]> {
    try {
      return await this.#rebuild();
    } catch (error) {
      throw toDamage(error, this.#path);
    }
  }

  async #rebuild(): Promise<readonly string[]> {
    const problems = await rebuildSideTables({
      database: this.#database,
      entries: this.#entries,
      heads: this.#heads,
      side: this.#side,
      appender: this.#appender,
      writer: this.#writer,
      ownerId: this.ownerId,
      now: () => this.now(),
    });
    return [...problems, ...(await this.#tables.rebuild())];
  }

  findGoneOwners(): readonly string[] {
    return this.#owners.findGone();
  }

  /** Its spill goes with it, unless something in it is still to be appended. */
  forgetOwner(ownerId: string): void {
    if (this.ownerStatus(ownerId) !== 'gone') return;
    this.#spill?.forget(ownerId);
    this.#owners.forget(ownerId);
  }

  ownerStatus(ownerId: string): OwnerStatus {
    return this.#owners.status(ownerId);
  }

  spill(entry: Entry): boolean {
    return this.#spill?.add(entry) ?? false;
  }

  canSpill(): boolean {
    return this.#spill?.isReady ?? false;
  }

  readSpills(): readonly Spilled[] {
    return this.#spill?.read((ownerId) => this.ownerStatus(ownerId) === 'gone') ?? [];
  }

  dropSpill(ownerId: string, lastEntryId?: string): boolean {
    return this.#spill?.drop(ownerId, lastEntryId) ?? false;
  }

  /** Read when it is first needed: whoever only looks at a ledger needs none. */
  get sealKey(): Uint8Array {
    this.#sealKey ??= readSealKey(`${this.#path}.key`, this.#owners.isOne);
    return this.#sealKey;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Writes what was handed over, then lets go of the file and of the owner's life. */
  async close(): Promise<void> {
    await this.#writer.close();
    this.#watch.close();
    try {
      await this.#tables.close();
    } finally {
      this.#spill?.close();
      this.#database.close();
      this.#owners.end();
    }
  }

  /** What is remembered, after making sure that it still holds. */
  #fresh(): Heads {
    this.#heads.refresh();
    return this.#heads;
  }

  /** Whoever reads a call that may be in doubt is about to append its end: see `#askedFor`. */
  #noteRead(sessionId: string, callId: string, { version, events }: StoredCall): void {
    if (events.at(-1)?.type !== 'tool.started') return;
    const asked = askedForIn(events, callId);
    if (asked === undefined) return;
    if (this.#lastRead.size >= mostRead) this.#lastRead.clear();
    this.#lastRead.set(callKey(sessionId, callId), { version, asked });
  }

  /** What a call asks for by its record, after the entry that moved it to its version of now. */
  #askedFor(sessionId: string, callId: string): AskedFor | undefined {
    const head = this.#heads.find(sessionId);
    if (head === undefined) return undefined;
    const read = this.#lastRead.get(callKey(sessionId, callId));
    // That entry says nothing of the input, and names the version that was read: nothing else came in between.
    if (read?.version === this.#heads.versionOf(head, callId) - 1) return read.asked;
    return askedForIn(this.#entries.readCall(head, callId)?.events ?? [], callId);
  }
}

const mostRead = 1_024;

const callKey = (sessionId: string, callId: string): string => `${sessionId.length}:${sessionId}${callId}`;

function askedForIn(events: readonly QuittanceEvent[], callId: string): AskedFor | undefined {
  const toolName = events.find((event) => event.type === 'tool.requested')?.toolName;
  const inputDigest = lastInputDigest(events, callId);
  return toolName === undefined || inputDigest === undefined ? undefined : { toolName, inputDigest };
}
