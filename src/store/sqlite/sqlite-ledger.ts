/**
 * A ledger in one SQLite file, for any number of processes on one machine. Reads and writes are synchronous calls of
 * a few microseconds. Only the flush to disk takes longer, and all writers share it.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { createIds } from '../../base/ids.ts';
import type { Claims } from '../../ledger/claims.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Queries } from '../../ledger/queries.ts';
import type { Retention } from '../../ledger/retention.ts';
import type { Spill } from '../../ledger/spill.ts';
import type { StoreTrouble } from '../../ledger/store-trouble.ts';
import type { OwnFile } from '../../policy/own-files/own-file.ts';
import type { Database } from './database.ts';
import { isBusy, prepareValue } from './database.ts';
import { HeadPages } from './head-pages.ts';
import { LogKeeper } from './log-keeper.ts';
import type { LogThreadData } from './log-thread.ts';
import { ReadTables } from './read-tables.ts';
import { createSalts } from '../files/salts.ts';
import { findLedgerId, hasKey, readKeyCheck, requireKey, storeKeyCheck } from './key-check.ts';
import type { KeyMaking } from './seal-key-file.ts';
import { findOlder } from './open-file.ts';
import { readSealKeyFile } from './seal-key-file.ts';
import { SpillFile } from '../files/spill-file.ts';
import type { ArtifactTable } from './artifact-table.ts';
import type { CursorTable } from './cursor-table.ts';
import type { Heads } from './heads.ts';
import type { SideTables } from './side-tables.ts';
import { identifyOwnFiles, SqliteOwnFiles } from './sqlite-own-files.ts';
import { SqliteJournal } from './sqlite-journal.ts';
import { ThreadWriter } from './thread-writer.ts';
import { createWriteParts } from './write-parts.ts';
import { measuredTuning, writeSettings } from './sqlite-ledger-options.ts';
import { SqliteEntries } from './sqlite-entries.ts';
import { SqliteIntegrity } from './sqlite-integrity.ts';
import type { SqliteLedgerOptions, SqliteTuning } from './sqlite-ledger-options.ts';
import { SqliteOwners } from './sqlite-owners.ts';
import { SqliteRetention } from './sqlite-retention.ts';
import { ChangeWatch } from './change-watch.ts';

export class SqliteLedger implements Ledger {
  readonly journal: SqliteJournal;
  readonly claims: Claims;
  readonly artifacts: ArtifactTable;
  readonly owners: SqliteOwners;
  readonly spill: Spill;
  readonly queries: Queries;
  readonly entries: SqliteEntries;
  readonly cursors: CursorTable;
  readonly integrity: SqliteIntegrity;
  readonly retention: Retention;
  readonly ownFiles: readonly OwnFile[];
  readonly now: () => number;
  readonly #path: string;
  readonly #mayWrite: boolean;
  #sealKey: Uint8Array | undefined;
  /** Another process may rotate the keys in the file. Undefined if the host gave the key. */
  readonly readSealKey: (() => Uint8Array) | undefined;
  readonly #keyMaking: () => KeyMaking;
  readonly #takeKey: () => Uint8Array;
  readonly #close: () => Promise<void>;
  readonly #listeners = new Set<(trouble: StoreTrouble) => void>();

  constructor(
    database: Database,
    path: string,
    options: SqliteLedgerOptions,
    // Without a tuning it writes through the given connection alone, which tests disturb.
    tuning: SqliteTuning = { ...measuredTuning, writerThread: 'never' },
  ) {
    this.#path = path;
    this.ownFiles = [{ path: resolve(path), kind: 'ledger', access: 'sealed', withCompanions: true }];
    const clock = options.clock ?? systemClock;
    const now = (this.now = clock.now.bind(clock));
    this.#sealKey = options.sealKey;
    this.#keyMaking = () => (!this.#mayWrite ? 'read only' : hasKey(database) ? 'sealed' : 'make');
    this.#takeKey = () => {
      const key = readSealKeyFile(`${path}.key`, this.#keyMaking());
      if (this.#mayWrite) {
        requireKey(database, path, key);
        noteFirstKey(database, key);
      }
      return key;
    };
    this.readSealKey =
      options.sealKey === undefined ? () => readSealKeyFile(`${path}.key`, 'read only') : options.readSealKey;
    const salt = createSalts();
    const forgetSpill = (gone: string): void => spillFile?.forget(gone);
    const owners = new SqliteOwners(`${path}.owners`, options.readOnly === true, forgetSpill);
    const { ownerId } = owners;
    this.#mayWrite = owners.isOne;
    const spillFile =
      options.readOnly === true ? undefined : openSpill(database, path, options, ownerId, salt);
    const files = new SqliteOwnFiles(path, identifyOwnFiles(path, owners.lock));
    const mayUseThreads = owners.isOne && !database.memory && tuning.writerThread !== 'never';
    const toData = (): LogThreadData => toThreadData(database, path, options, log.memory);
    const log = new LogKeeper(mayUseThreads ? toData : undefined);
    const committed = (): void => {
      watch.endChanged(heads.position);
      tables.noteAppend();
      log.noteCommit(heads.position);
    };
    const { longestTail } = tuning;
    const place = { path, ownerId, files, longestTail, log: log.state };
    const writeParts = createWriteParts(database, place, { committed });
    const { heads, entries, marks, side, lastReads, cursors, appender, artifacts, writer } = writeParts;
    const headPages = new HeadPages(database, heads);
    if (mayUseThreads)
      writer.shareWith(
        new ThreadWriter({
          ...writeParts,
          committed,
          onFailure: (error) => this.#report(error),
          data: () => ({ ...toData(), ownerId, longestTail, opened: files.opened }),
          mode: tuning.writerThread,
          argv: tuning.writerThreadArgv,
        }),
      );
    const tables = new ReadTables(database, entries, heads, readTablesPath(database, path, options), tuning);
    const watch = createWatch(database, heads);
    const parts = { database, path, entries, heads, headPages, side, appender, artifacts, writer, ownerId };
    this.journal = new SqliteJournal({ ...parts, watch, salt, lastReads });
    this.claims = createClaims(heads, side);
    this.artifacts = artifacts;
    this.owners = owners;
    this.spill = createSpill(spillFile, owners);
    this.queries = tables;
    this.entries = new SqliteEntries(heads, entries, watch);
    this.cursors = cursors;
    this.integrity = new SqliteIntegrity({ ...parts, tables, now });
    this.retention = new SqliteRetention(database, { ...parts, marks, ids: createIds(), salt, now });
    this.#close = async () => {
      await writer.close();
      await log.close();
      watch.close();
      try {
        await tables.close();
      } finally {
        spillFile?.close();
        database.close();
        owners.end();
      }
    };
  }

  readonly watchTrouble = (listener: (trouble: StoreTrouble) => void, signal: AbortSignal): void => {
    this.#listeners.add(listener);
    signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true });
  };

  #report(error: unknown): void {
    const message =
      `The thread that writes the ledger ${this.#path} ended unexpectedly: ` +
      `${error instanceof Error ? error.message : String(error)}. Nothing is lost: the main thread writes instead.`;
    for (const listener of this.#listeners) listener({ type: 'ledger.writer_stopped', message, error });
  }

  /** Read on first use: a process that only reads the ledger needs no key. */
  get sealKey(): Uint8Array {
    this.#sealKey ??= this.#takeKey();
    return this.#sealKey;
  }

  /** Throws if the ledger has a key that this process lacks. */
  requireSealKey(): void {
    if (this.#keyMaking() === 'sealed') void this.sealKey;
  }

  /** Writes what is queued, then closes the file and ends the owner. */
  close(): Promise<void> {
    return this.#close();
  }
}

function openSpill(
  database: Database,
  path: string,
  options: SqliteLedgerOptions,
  ownerId: string,
  salt: () => string,
): SpillFile {
  const ledgerId = findLedgerId(database);
  return new SpillFile({ folder: `${path}.spill`, ownerId, ledgerId }, options.spillBytes ?? 1_048_576, salt);
}

const createSpill = (file: SpillFile | undefined, owners: SqliteOwners): Spill => ({
  write: (entry) => file?.add(entry) ?? false,
  canWrite: () => file?.isReady ?? false,
  read: () => file?.read((other) => owners.statusOf(other) === 'gone') ?? [],
  drop: (other, lastEntryId) => file?.drop(other, lastEntryId) ?? false,
});

/** If another process writes just now, the next process that opens the ledger notes it. */
function noteFirstKey(database: Database, key: Uint8Array): void {
  if (database.inTransaction || readKeyCheck(database) !== undefined) return;
  try {
    storeKeyCheck(database, key, true);
  } catch (error) {
    if (!isBusy(error)) throw error;
  }
}

const toThreadData = (
  database: Database,
  path: string,
  options: SqliteLedgerOptions,
  logMemory: SharedArrayBuffer,
): LogThreadData => ({
  path: resolve(path),
  ledgerId: findLedgerId(database),
  settings: writeSettings(options),
  logMemory,
});

/**
 * A reader leaves no file behind: without read tables on disk it builds its own in memory. It also does that if the tables
 * on disk know more than the ledger: they are the evidence that the ledger is older.
 */
const readTablesPath = (database: Database, path: string, { readOnly }: SqliteLedgerOptions): string =>
  readOnly === true &&
  (database.memory || !existsSync(`${path}.read`) || findOlder(database, path) !== undefined)
    ? ':memory:'
    : `${path}.read`;

function createWatch(database: Database, heads: Heads): ChangeWatch {
  const dataVersion = prepareValue<number>(database, 'PRAGMA data_version');
  return new ChangeWatch({
    dataVersion: () => dataVersion.get() as number,
    position: () => heads.fresh().position,
    versionOf: (sessionId, callId) => {
      const head = heads.fresh().find(sessionId);
      return head === undefined ? 0 : heads.versionOf(head, callId);
    },
  });
}

const createClaims = (heads: Heads, side: SideTables): Claims => ({
  readClaim(claimKey) {
    heads.refresh();
    return side.readClaim(claimKey);
  },
  readCounters(names) {
    heads.refresh();
    return names.map((name) => side.readCounter(name));
  },
  findUnsettledEffects(sessionId, toolName, inputDigest) {
    if (heads.isCurrent && side.areEffectsKnownAbsent) return [];
    heads.refresh();
    const head = side.hasUnsettled ? heads.find(sessionId) : undefined;
    return head === undefined ? [] : side.findUnsettled(head, toolName, inputDigest);
  },
});
