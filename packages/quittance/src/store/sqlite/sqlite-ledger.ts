/**
 * A ledger in one SQLite file, for any number of processes on one machine.
 *
 * 1. Everything is written by one thread: see `writer-thread.ts`. A slow disk never blocks the event loop.
 * 2. Reads are synchronous and short, on a connection of their own. They do not wait for a commit, and find everything
 *    that was acknowledged.
 */
import { resolve } from 'node:path';
import { contentBytes } from '../../base/content-digest.ts';
import { systemClock } from '../../base/deadlines.ts';
import type { Page } from '../../ledger/call-query.ts';
import { checkOfKeys } from '../../ledger/seal.ts';
import type {
  Ledger,
  ListedRows,
  MadeCalls,
  OpenLedger,
  RowReaders,
  Spill,
  StoreTrouble,
} from '../../ledger/ledger.ts';
import { closedError, readOnlyError, refuseErasure } from '../../ledger/prepare-entry.ts';
import type { OwnFile } from '../../policy/own-files/own-file.ts';
import { createSalts, SpillFile } from '../files/spill-file.ts';
import { ArtifactFiles } from './artifact-files.ts';
import { ArtifactTable } from './artifact-table.ts';
import { CallLists } from './call-lists.ts';
import { createSqliteDriver, createSqliteRows, cursorDialect, entryDialect, sideDialect } from './dialect.ts';
import { selectCursors } from '../sql/cursors.ts';
import type { SqlDriver } from '../sql/driver.ts';
import { createEntryReads } from '../sql/entries.ts';
import { pageOfSideRows } from '../sql/side-rows.ts';
import { ChangeWaiters } from '../../ledger/until-woken.ts';
import { CursorTable } from './cursor-table.ts';
import type { Database, Statement } from './database.ts';
import { isInputOutput, prepareValue } from './database.ts';
import { EntryTable } from './entry-table.ts';
import { identifyOwnFiles, WriterLog } from './file-checks.ts';
import { inspectFile } from './inspect.ts';
import { findLedgerId, hasKey, readKeyCheck, requireKey } from './key-check.ts';
import { Marks } from './marks.ts';
import { SqliteOwners } from './owner-lock.ts';
import type { RelistProgress } from './relist.ts';
import { createTransactions, isRelisting, relist } from './relist.ts';
import type { KeyMaking } from './seal-key-file.ts';
import { readSealKeyFile } from './seal-key-file.ts';
import type { Session } from './sessions.ts';
import { Sessions } from './sessions.ts';
import { SideTables } from './side-tables.ts';
import type { SqliteLedgerOptions } from './sqlite-ledger-options.ts';
import { writeSettings } from './sqlite-ledger-options.ts';
import type { Answers, WriteOrder } from './write-order.ts';
import { createAppendOrder } from './write-order.ts';
import { WriterClient } from './writer-client.ts';

export class SqliteLedger implements OpenLedger {
  readonly ownerId: string;
  readonly now: () => number;
  readonly runtimes: Set<MadeCalls> = new Set();
  readonly spill: Spill;
  readonly ownFiles: readonly OwnFile[];
  /** Another process may rotate the keys in the file. Undefined if the host gave the key. */
  readonly readSealKey: (() => Uint8Array) | undefined;
  readonly #path: string;
  readonly #database: Database;
  readonly #sessions: Sessions;
  readonly #entries: EntryTable;
  readonly #artifacts: ArtifactTable;
  readonly #artifactFiles: ArtifactFiles;
  readonly #owners: SqliteOwners;
  readonly #spillFile: SpillFile | undefined;
  readonly #watch: ChangeWatch;
  readonly #writer: WriterClient;
  readonly #reads: ReturnType<typeof createEntryReads>;
  readonly #rows: RowReaders;
  readonly #salt = createSalts();
  readonly #dataVersion: Statement<number>;
  /** The version of the data when it was last looked at, and whether the thread has written since. */
  #seen: number | undefined;
  #hasWritten = false;
  #sealKey: Uint8Array | undefined;
  readonly #listeners = new Set<(trouble: StoreTrouble) => void>();

  /** `database`: from now on only for reads. `threadArgv`: options of Node for the thread, for tests. */
  constructor(
    database: Database,
    path: string,
    options: SqliteLedgerOptions,
    threadArgv: readonly string[] = [],
  ) {
    const { clock = systemClock, readOnly = false, sealKey, readSealKey } = options;
    const [sessions, entries, cursors] = [
      new Sessions(database),
      new EntryTable(database),
      new CursorTable(database),
    ];
    this.#path = path;
    this.#database = database;
    this.#sessions = sessions;
    this.#entries = entries;
    this.#artifactFiles = new ArtifactFiles(`${path}.artifacts`);
    this.#artifacts = new ArtifactTable(database, this.#artifactFiles);
    this.ownFiles = [{ path: resolve(path), kind: 'ledger', access: 'sealed', withCompanions: true }];
    this.now = clock.now.bind(clock);
    this.#sealKey = sealKey;
    this.readSealKey =
      sealKey === undefined ? () => readSealKeyFile(`${path}.key`, 'read only') : readSealKey;
    this.#owners = new SqliteOwners(`${path}.owners`, readOnly, (gone) => this.#spillFile?.forget(gone));
    const { ownerId, lock } = this.#owners;
    this.ownerId = ownerId;
    const ledgerId = findLedgerId(database);
    if (!readOnly)
      this.#spillFile = new SpillFile(
        { folder: `${path}.spill`, ownerId, ledgerId },
        options.spillBytes ?? 1_048_576,
        this.#salt,
      );
    this.spill = createSpill(this.#spillFile, this.#owners);
    this.#dataVersion = prepareValue(database, 'PRAGMA data_version');
    this.#watch = new ChangeWatch({
      dataVersion: () => this.#dataVersion.get() ?? 0,
      position: () => entries.lastPosition(),
      versionOf: (sessionId, callId) => {
        const session = sessions.read(sessionId);
        return session === undefined ? 0 : entries.versionOf(session, callId);
      },
    });
    const opened = readOnly ? [] : identifyOwnFiles(path, lock);
    this.#writer = new WriterClient({
      path,
      sessions,
      entries,
      cursors,
      data: () => ({ path: resolve(path), ledgerId, ownerId, settings: writeSettings(options), opened }),
      argv: threadArgv,
      answered: (position, metOthers) => {
        this.#hasWritten = true;
        if (metOthers) sessions.forgetAll();
        this.#watch.endChanged(position);
      },
      onEnd: (error) => this.#report(error),
    });
    const driver = createSqliteDriver(database);
    const toTrouble = (error: unknown): never => {
      throw this.#toReadError(error);
    };
    const all: SqlDriver['all'] = (text, values) => driver.all<never>(text, values).catch(toTrouble);
    this.#reads = createEntryReads({ ...driver, all }, entryDialect);
    this.#rows = this.#createRows(createSqliteRows(database, this.#listOnce(readOnly)), { ...driver, all });
    if (!readOnly) database.pragma('query_only = ON');
  }

  readonly append: Ledger['append'] = async (entry) => {
    const result = await this.#order(createAppendOrder(entry, this.ownerId, this.#salt));
    if (entry.callId !== undefined && result.status === 'appended')
      this.#watch.callChanged(entry.sessionId, entry.callId, result.version);
    return result;
  };

  /** Performs an order in the thread. */
  async #order<Order extends WriteOrder>(order: Order): Promise<Answers[Order['type']]> {
    if (this.#owners.lock === undefined) throw readOnlyError(undefined);
    return this.#writer.send(order);
  }

  /** Reads as of one moment. */
  #read<Result>(read: () => Result): Result {
    try {
      return this.#database.atOneMoment(read);
    } catch (error) {
      throw this.#toReadError(error);
    }
  }

  /** If the file cannot be read because its log was cut, the error says so. */
  #toReadError(error: unknown): unknown {
    if (!isInputOutput(error)) return error;
    const log = new WriterLog(this.#database, this.#path);
    try {
      log.requireWhole();
      return error;
    } catch (cut) {
      return cut;
    } finally {
      log.close();
    }
  }

  /** What another process has written may have changed any session. While the thread writes, it reports that itself. */
  #noteOthers(): void {
    const version = this.#dataVersion.get();
    if (version === this.#seen) return;
    if (!this.#hasWritten && !this.#writer.isBusy) this.#sessions.forgetAll();
    this.#seen = version;
    this.#hasWritten = false;
  }

  readonly readCall: Ledger['readCall'] = async (sessionId, callId) =>
    this.#read(() => {
      this.#noteOthers();
      const session = this.#sessions.read(sessionId);
      if (session === undefined) return undefined;
      // A call whose entry is missing would look new.
      this.#sessions.requireWhole(session);
      return this.#entries.readCall(session, callId);
    });

  readonly readSession: Ledger['readSession'] = (...asked) => this.#reads.readSession(...asked);

  readonly readEntries: Ledger['readEntries'] = (query) => this.#reads.readEntries(query);

  readonly query: Ledger['query'] = (name, query) => this.#rows[name](query);

  readonly whenChanged: Ledger['whenChanged'] = async (awaited, signal) =>
    'after' in awaited
      ? this.#watch.end(awaited.after, signal)
      : this.#watch.call(awaited.sessionId, awaited.callId, awaited.version, signal);

  readonly putArtifact: Ledger['putArtifact'] = async ({ content, ...artifact }) => {
    for (;;) {
      const kept = await this.#artifactFiles.put(content);
      if (await this.#order({ type: 'artifact', artifact: plain({ ...artifact, ...kept }) })) return;
      // Another session dropped this content between the two steps: write it again.
    }
  };

  readonly readArtifact: Ledger['readArtifact'] = async (sessionId, artifactId, range) => {
    const session = this.#sessions.read(sessionId);
    const found = session && this.#artifacts.find(session, artifactId);
    if (found === undefined) return undefined;
    const { mimeType, encoding, bytes: size, hash, callId } = found;
    if (range?.most === 0) return { mimeType, encoding, size, bytes: new Uint8Array() };
    if (range !== undefined) {
      const bytes = await this.#artifactFiles.readBytes(hash, range.from, range.most);
      return { mimeType, encoding, size, bytes };
    }
    const content = await this.#artifactFiles.read(hash, encoding);
    return { mimeType, encoding, size, bytes: contentBytes(content), callId };
  };

  readonly setCursor: Ledger['setCursor'] = (change) =>
    this.#order({ type: 'cursor', change: plain(change) });

  readonly forgetOwner: Ledger['forgetOwner'] = async (ownerId) => this.#owners.forget(ownerId);

  readonly erase: Ledger['erase'] = async (erasure) => {
    refuseErasure(erasure);
    return this.#order({ type: 'erase', erasure: plain(erasure), at: this.now() });
  };

  readonly dropSession: Ledger['dropSession'] = async (removal) => {
    refuseErasure(removal);
    return this.#order({ type: 'drop', removal: plain(removal), at: this.now() });
  };

  readonly inspect: Ledger['inspect'] = (signal) => inspectFile(this.#path, signal);

  readonly rebuild: OpenLedger['rebuild'] = () => this.#order({ type: 'rebuild', at: this.now() });

  /** Entries of older versions are listed before the ledger is used. If this process is killed, the next one goes on. */
  async listOlder(onProgress: (progress: RelistProgress) => void = () => undefined): Promise<void> {
    if (!isRelisting(this.#database)) return;
    for (;;) {
      const progress = await this.#order({ type: 'relist' });
      if (progress === 'done') return;
      onProgress(progress);
    }
  }

  readonly close: Ledger['close'] = async () => {
    const isFirst = !this.#writer.isClosed;
    await this.#writer.close();
    if (!isFirst) return;
    this.#watch.close();
    this.#spillFile?.close();
    this.#database.close();
    this.#owners.end();
  };

  readonly watchTrouble = (listener: (trouble: StoreTrouble) => void, signal: AbortSignal): void => {
    this.#listeners.add(listener);
    signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true });
  };

  #report(error: unknown): void {
    const message =
      `The thread that writes the ledger ${this.#path} ended unexpectedly: ` +
      `${error instanceof Error ? error.message : String(error)}. Nothing is lost: a new thread writes what is left.`;
    for (const listener of this.#listeners) listener({ type: 'ledger.writer_stopped', message, error });
  }

  /** Read on first use: a process that only reads the ledger needs no key. */
  get sealKey(): Uint8Array {
    this.#sealKey ??= this.#takeKey();
    return this.#sealKey;
  }

  /** Throws if the ledger has a key that this process lacks. */
  requireSealKey(): void {
    if (this.#keyMaking === 'sealed') void this.sealKey;
  }

  get #keyMaking(): KeyMaking {
    if (this.#owners.lock === undefined) return 'read only';
    return hasKey(this.#database) ? 'sealed' : 'make';
  }

  #takeKey(): Uint8Array {
    const key = readSealKeyFile(`${this.#path}.key`, this.#keyMaking);
    if (this.#owners.lock === undefined) return key;
    requireKey(this.#database, this.#path, key);
    if (readKeyCheck(this.#database) === undefined) {
      const check = checkOfKeys(key, findLedgerId(this.#database));
      // If it cannot be stored now, the next process that opens the ledger does it.
      this.#order({ type: 'key', check }).catch(() => undefined);
    }
    return key;
  }

  /** A reader of an older file fills its temporary tables when a query first needs them. */
  #listOnce(readOnly: boolean): () => Promise<void> {
    let listed: Promise<unknown> | undefined;
    return async () => {
      if (readOnly && listed === undefined && isRelisting(this.#database)) {
        const lists = new CallLists(this.#database, this.#entries);
        const parts = { database: this.#database, sessions: this.#sessions, lists };
        listed = relist(parts, createTransactions(parts));
      }
      await listed;
    };
  }

  #createRows(listed: ListedRows, driver: SqlDriver): RowReaders {
    const database = this.#database;
    const [sessions, entries, owners] = [this.#sessions, this.#entries, this.#owners];
    const { heads, measure, countSessions } = this.#reads;
    const side = new SideTables(database, new Marks(database, entries), entries, false);
    /** What a session says, as of one moment. */
    const ofSession = async <Found>(
      sessionId: string,
      read: (session: Session) => Found,
    ): Promise<Found | undefined> =>
      this.#read(() => {
        const session = sessions.read(sessionId);
        return session && read(session);
      });
    return {
      ...listed,
      claims: async ({ key }) => pageOf(this.#read(() => side.readClaim(key))),
      counters: async ({ names }) => page(this.#read(() => names.map((name) => side.readCounter(name)))),
      unsettled: async ({ sessionId, toolName, inputDigest }) =>
        page(
          (await ofSession(sessionId, (session) => side.findUnsettled(session, toolName, inputDigest))) ?? [],
        ),
      states: async ({ sessionId, subject }) =>
        pageOf(await ofSession(sessionId, (session) => side.readState(session, subject))),
      sealed: async ({ sessionId, callId }) =>
        pageOf(await ofSession(sessionId, (session) => side.readSealed(session, callId))),
      cursors: async ({ name }) => {
        if (this.#writer.isClosed) throw closedError();
        return page(await selectCursors(driver, cursorDialect, name));
      },
      async owners(query) {
        if ('ownerId' in query)
          return pageOf({ ownerId: query.ownerId, status: owners.statusOf(query.ownerId) });
        return page(owners.findGone().map((ownerId) => ({ ownerId, status: 'gone' as const })));
      },
      heads,
      async sizes(query) {
        if ('limit' in query) return page(await measure(query));
        const { sessionId, callId } = query;
        const bytes = await ofSession(sessionId, (session) => entries.sizeOf(session, callId));
        return pageOf({ position: 0, sessionId, bytes: bytes ?? 0 });
      },
      end: async ({ countSessions: isCounted = false }) =>
        pageOf({
          position: entries.lastPosition(),
          sessions: isCounted ? await countSessions() : undefined,
        }),
      side_rows: ({ cursor }) => pageOfSideRows(driver, sideDialect, cursor),
    };
  }
}

const page = <Row>(rows: readonly Row[]): Page<Row> => ({ rows, next: undefined });
const pageOf = <Row>(row: Row | undefined): Page<Row> => page(row === undefined ? [] : [row]);

/** As a message can carry it. */
const plain = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

const createSpill = (file: SpillFile | undefined, owners: SqliteOwners): Spill => ({
  write: async (entry) => file?.add(entry) ?? false,
  canWrite: async () => file?.isReady ?? false,
  read: async () => file?.read((other) => owners.statusOf(other) === 'gone') ?? [],
  drop: async (other, lastEntryId) => file?.drop(other, lastEntryId) ?? false,
});

/** The questions that the watch asks. */
interface Watched {
  /** Changes when another connection commits. */
  dataVersion(): number;
  position(): number;
  versionOf(sessionId: string, callId: string): number;
}

const everyMs = 15;

/**
 * Notifies waiters about appends: at once if this handle wrote, and soon if another process did. The file is checked
 * only while there are waiters, and that never keeps the process alive.
 */
class ChangeWatch {
  readonly #watched: Watched;
  readonly #waiters = new ChangeWaiters();
  #timer: NodeJS.Timeout | undefined;
  #seen = 0;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** Resolves when the call has another version; at once for a call that does not exist. */
  call(sessionId: string, callId: string, version: number, signal?: AbortSignal): Promise<void> {
    // Read before the check, so that no commit in between goes unnoticed.
    const seen = this.#watched.dataVersion();
    const found = this.#watched.versionOf(sessionId, callId);
    if (found === 0 || found !== version) return Promise.resolve();
    this.#look(seen);
    return this.#waiters.untilCall({ sessionId, callId, version }, signal);
  }

  /** Resolves when an entry exists after the position. */
  end(after: number, signal?: AbortSignal): Promise<void> {
    const seen = this.#watched.dataVersion();
    if (this.#watched.position() > after) return Promise.resolve();
    this.#look(seen);
    return this.#waiters.untilAfter(after, signal);
  }

  /** Called when this handle has written about the call. */
  callChanged(sessionId: string, callId: string, version: number): void {
    if (!this.#waiters.isEmpty) this.#waiters.tellCall({ sessionId, callId, version });
  }

  /** Called when this handle has written up to the position. */
  endChanged(position: number): void {
    this.#waiters.tellEnd(position);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#waiters.rejectAll(closedError());
  }

  #look(seen: number): void {
    if (this.#timer !== undefined) return;
    this.#seen = seen;
    this.#comeBack();
  }

  #comeBack(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      try {
        this.#lookAgain();
      } catch (error) {
        this.#waiters.rejectAll(error);
      }
      if (!this.#waiters.isEmpty) this.#comeBack();
    }, everyMs);
    this.#timer.unref();
  }

  #lookAgain(): void {
    const version = this.#watched.dataVersion();
    if (version === this.#seen) return;
    this.#seen = version;
    for (const waiters of this.#waiters.calls) {
      const { sessionId = '', callId = '' } = waiters[0]?.awaited ?? {};
      this.#waiters.tell(waiters, this.#watched.versionOf(sessionId, callId));
    }
    this.endChanged(this.#watched.position());
  }
}
