/**
 * A ledger in one SQLite file, for any number of processes of one machine. Everything is read and written by
 * synchronous calls of a few microseconds; only the flush to disk takes longer, and all who write share it.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
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
  Removal,
  Spilled,
  StoredArtifact,
  StoredCall,
  StoredState,
} from '../../ledger/ledger.ts';
import { refuseEntry } from '../../ledger/refuse-entry.ts';
import type { EntryQuery, StoredEntry } from '../../ledger/stored-entry.ts';
import { lastInputDigest } from '../../ledger/unsettled-effect.ts';
import { AppendJob, Appender } from './append-job.ts';
import { ArtifactTable } from './artifact-table.ts';
import { listBeside } from './beside-rows.ts';
import { CursorTable } from './cursor-table.ts';
import type { Database } from './database.ts';
import { prepareValue } from './database.ts';
import { EntryTable } from './entry-table.ts';
import { HeadPages } from './head-pages.ts';
import { Heads } from './heads.ts';
import { openLedgerFile } from './open-file.ts';
import { forgetOwner, isOwnerAlive, listOwners, newOwnerId, takeOwnerLock } from './owner-lock.ts';
import { ReadTables } from './read-tables.ts';
import { Retention } from './retention.ts';
import { createSalts } from './salts.ts';
import { readSealKey } from './seal-key-file.ts';
import { rebuildSideTables } from './side-rebuild.ts';
import { SideTables } from './side-tables.ts';
import { SpillFile } from './spill-file.ts';
import { Watch } from './watch.ts';
import { Writer } from './writer.ts';

export type SqliteLedgerOptions = {
  readonly clock?: Clock | undefined;
  /** 32 bytes. Without it the key is read from a file beside the ledger, which is made on first use. */
  readonly sealKey?: Uint8Array | undefined;
  /**
   * `full`, the default: what was told is on disk even if the power goes. `normal`: even if the process or the
   * system's programs go, but a power cut may take the last commits.
   */
  readonly synchronous?: 'full' | 'normal' | undefined;
  /** Opens a ledger that is there, to read it only: every append is refused, and there is no owner. */
  readonly readOnly?: boolean | undefined;
  /** How large the file may grow. Appends that do not fit are refused as on a full disk. */
  readonly maxBytes?: number | undefined;
  /** Room taken beforehand for what a full disk would not take. 1 MiB by default. */
  readonly spillBytes?: number | undefined;
};

/** Measured once; other values are for tests. */
export type SqliteTuning = {
  /** Entries after which the newest are written to the index. */
  readonly longestTail: number;
  /** How far behind the read tables may be before a thread of their own fills them. */
  readonly threadLag: number;
};

/** Opens a ledger file, or makes one. */
export async function openSqliteLedger(
  path: string,
  options: SqliteLedgerOptions = {},
  tuning: Partial<SqliteTuning> = {},
): Promise<SqliteLedger> {
  const readOnly = options.readOnly ?? false;
  if (!readOnly) mkdirSync(dirname(path), { recursive: true });
  const database = await openLedgerFile(path, readOnly);
  try {
    database.pragma(`synchronous = ${options.synchronous === 'normal' ? 'NORMAL' : 'FULL'}`);
    // What is erased must not be left in pages nobody uses any more.
    database.pragma('secure_delete = ON');
    if (options.maxBytes !== undefined) {
      const pageBytes = database.pragma('page_size', { simple: true }) as number;
      database.pragma(`max_page_count = ${Math.max(1, Math.floor(options.maxBytes / pageBytes))}`);
    }
    return new SqliteLedger(database, path, options, { ...measured, ...tuning });
  } catch (error) {
    database.close();
    throw error;
  }
}

const rememberedLifeMs = 200;
/** Writing so many to the index at once costs a third of writing each with its entry, and takes milliseconds. */
const measured: SqliteTuning = { longestTail: 4_096, threadLag: 10_000 };

export class SqliteLedger implements Ledger {
  readonly ownerId: string = newOwnerId();
  readonly inHand: Map<string, number> = new Map();
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #path: string;
  #sealKey: Uint8Array | undefined;
  readonly #lives = new Set<string>();
  readonly #owners: string;
  readonly #endOwner: (() => void) | undefined;
  readonly #spill: SpillFile | undefined;
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

  constructor(
    database: Database,
    path: string,
    options: SqliteLedgerOptions,
    tuning: SqliteTuning = measured,
  ) {
    this.#database = database;
    this.#path = path;
    this.#clock = options.clock ?? systemClock;
    this.#sealKey = options.sealKey;
    this.#owners = `${path}.owners`;
    if (options.readOnly !== true) {
      this.#endOwner = takeOwnerLock(this.#owners, this.ownerId);
      const bytes = options.spillBytes ?? 1_048_576;
      this.#spill = new SpillFile(`${path}.spill`, this.ownerId, bytes, this.#salt);
    }
    this.#heads = new Heads(database, tuning.longestTail);
    this.#headPages = new HeadPages(database, this.#heads);
    this.#entries = new EntryTable(database, this.#heads);
    this.#side = new SideTables(database, this.#heads, (sessionId, callId) =>
      this.#digestOf(sessionId, callId),
    );
    this.#writer = new Writer(database, {
      began: () => this.#heads.refreshNow(),
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
    this.#appender = new Appender(database, this.#heads, this.#side, this.#cursors);
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
    return head && this.#entries.readCall(head, callId);
  }

  readSession(sessionId: string): readonly QuittanceEvent[] {
    const head = this.#fresh().find(sessionId);
    return head === undefined ? [] : this.#entries.readSession(head);
  }

  readClaim(claimKey: string): ClaimHolder | undefined {
    return this.#side.readClaim(claimKey);
  }

  readCounters(names: readonly string[]): readonly Counter[] {
    return names.map((name) => this.#side.readCounter(name));
  }

  findUnsettledEffects(sessionId: string, toolName: string, inputDigest: string): readonly string[] {
    const heads = this.#fresh();
    const head = heads.hasUnsettled ? heads.find(sessionId) : undefined;
    return head === undefined ? [] : this.#side.findUnsettled(head, toolName, inputDigest);
  }

  whenChanged(sessionId: string, callId: string, version: number): Promise<void> {
    return this.#watch.call(sessionId, callId, version);
  }

  whenAppended(after: number): Promise<void> {
    return this.#watch.end(after);
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

  findOpenCalls(): Promise<readonly OpenCall[]> {
    return this.#tables.findOpenCalls();
  }

  readBeside(): AsyncIterable<BesideRow> {
    return listBeside(this.#database);
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

  async rebuild(): Promise<void> {
    await rebuildSideTables({
      database: this.#database,
      entries: this.#entries,
      heads: this.#heads,
      writer: this.#writer,
      now: () => this.now(),
    });
    await this.#tables.rebuild();
  }

  findGoneOwners(): readonly string[] {
    const others = listOwners(this.#owners).filter((ownerId) => ownerId !== this.ownerId);
    return others.filter((ownerId) => !this.#lives.has(ownerId) && !this.#noteLife(ownerId));
  }

  /** Its spill goes with it, unless something in it is still to be appended. */
  forgetOwner(ownerId: string): void {
    if (this.isAlive(ownerId)) return;
    this.#spill?.forget(ownerId);
    forgetOwner(this.#owners, ownerId);
  }

  isAlive(ownerId: string): boolean {
    return ownerId === this.ownerId ? this.#endOwner !== undefined : isOwnerAlive(this.#owners, ownerId);
  }

  spill(entry: Entry): boolean {
    return this.#spill?.add(entry) ?? false;
  }

  canSpill(): boolean {
    return this.#spill?.isReady ?? false;
  }

  readSpills(): readonly Spilled[] {
    return this.#spill?.read((ownerId) => !this.isAlive(ownerId)) ?? [];
  }

  dropSpill(ownerId: string, lastEntryId?: string): boolean {
    return this.#spill?.drop(ownerId, lastEntryId) ?? false;
  }

  /** Read when it is first needed: whoever only looks at a ledger needs none. */
  get sealKey(): Uint8Array {
    this.#sealKey ??= readSealKey(`${this.#path}.key`, this.#endOwner !== undefined);
    return this.#sealKey;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Writes what was handed over, then lets go of the file and of the owner's life. */
  async close(): Promise<void> {
    await this.#writer.close();
    this.#watch.close();
    await this.#tables.close();
    this.#spill?.close();
    this.#database.close();
    this.#endOwner?.();
  }

  /** Remembers for a moment that an owner lives: asking is cheap, but not for every turn and every owner. */
  #noteLife(ownerId: string): boolean {
    const isAlive = this.isAlive(ownerId);
    if (isAlive) {
      this.#lives.add(ownerId);
      setTimeout(() => this.#lives.delete(ownerId), rememberedLifeMs).unref();
    }
    return isAlive;
  }

  /** What is remembered, after making sure that it still holds. */
  #fresh(): Heads {
    this.#heads.refresh();
    return this.#heads;
  }

  #digestOf(sessionId: string, callId: string): string | undefined {
    const head = this.#heads.find(sessionId);
    return head && lastInputDigest(this.#entries.readCall(head, callId)?.events ?? [], callId);
  }
}
