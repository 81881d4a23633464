/**
 * Proves that an owner is alive: an exclusive lock on a small file of its own, held while the handle is open. The
 * system keeps the lock for a stopped process and releases it for a killed one, whatever the clocks say.
 *
 * 1. The lock is a SQLite lock, so that it also works between two handles of one process. A plain file lock belongs
 *    to the whole process, and is lost when any of its descriptors is closed. No other code may open these files.
 * 2. Beside the lock, the owner writes its process id and start time. A command that a process below it runs can then
 *    tell that an owner started it.
 * 3. A process that removes the file of a dead owner holds its lock meanwhile. A process that takes a lock checks
 *    afterwards that the file still exists. So no living owner ends up without its file.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OwnerStatus } from '../../ledger/ledger.ts';
import type { Database } from './database.ts';
import { isBusy, isMissing, isNoDatabase, openDatabase } from './database.ts';
import type { FileIdentity } from '../files/file-identity.ts';
import { identifyFile } from '../files/file-identity.ts';
import { newOwnerId, ownerPattern } from '../files/owner-id.ts';
import type { ProcessMark } from '../files/system-process.ts';
import { parseProcessMark, readOwnProcess, showProcessMark } from '../files/system-process.ts';
import { removeIfPossible } from '../files/write-all.ts';

/** A held lock, and the file that carries it. */
export type OwnerLock = { readonly path: string; readonly file: FileIdentity; end(): void };

/** Creates the file of an owner and takes its lock. */
export function takeOwnerLock(folder: string, ownerId: string): OwnerLock {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, ownerId);
  for (;;) {
    const lock = tryLock(path, false);
    const file = lock && identifyFile(path);
    if (lock !== undefined && file !== undefined) {
      const end = (): void => {
        // The file first: an owner without it is gone, locked or not.
        removeIfPossible(path);
        removeIfPossible(processPath(path));
        lock.close();
      };
      try {
        writeOwnProcess(path);
      } catch (error) {
        end();
        throw error;
      }
      return { path, file, end };
    }
    lock?.close();
  }
}

const processPath = (path: string): string => `${path}.process`;

function writeOwnProcess(path: string): void {
  const own = readOwnProcess();
  if (own !== undefined) writeFileSync(processPath(path), `${showProcessMark(own)}\n`, { mode: 0o600 });
}

/** The processes that hold the lock of an owner. Undefined for an owner whose mark was removed or cannot be read. */
export function readLockProcesses(folder: string): (ProcessMark | undefined)[] {
  return listOwners(folder).flatMap((ownerId) => {
    if (readOwnerStatus(folder, ownerId) === 'gone') return [];
    const mark = readMark(join(folder, ownerId));
    // Asked again: the owner may have ended meanwhile.
    return mark === undefined && readOwnerStatus(folder, ownerId) === 'gone' ? [] : [mark];
  });
}

function readMark(path: string): ProcessMark | undefined {
  try {
    return parseProcessMark(readFileSync(processPath(path), 'utf8').trimEnd());
  } catch {
    return undefined;
  }
}

/**
 * A free lock or a missing file proves that the owner is gone. Any other failure (no descriptors left, no permission,
 * an I/O error) proves nothing. An id that is not one of ours belongs to no living owner.
 */
export function readOwnerStatus(folder: string, ownerId: string): OwnerStatus {
  if (!ownerPattern.test(ownerId)) return 'gone';
  const path = join(folder, ownerId);
  let database: Database | undefined;
  try {
    // Checks without taking the lock, so that two processes that check at once do not mistake each other for the
    // owner.
    database = openDatabase(path, { readOnly: true, mustExist: true });
    database.pragma('schema_version');
    return 'gone';
  } catch (error) {
    if (isBusy(error)) return 'alive';
    // SQLite read the file, so no other process holds its exclusive lock.
    if (isNoDatabase(error)) return 'gone';
    return isProvenMissing(path) ? 'gone' : 'unknown';
  } finally {
    database?.close();
  }
}

/** SQLite reports a missing file and a forbidden one alike: only the file system can tell them apart. */
function isProvenMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** Every owner that has left a file, dead or alive. Empty if the folder cannot be read: then no death is proven. */
export function listOwners(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => ownerPattern.test(name));
  } catch {
    return [];
  }
}

/** Removes what a dead owner left. Does nothing to a living one. */
export function forgetOwner(folder: string, ownerId: string): void {
  if (!ownerPattern.test(ownerId)) return;
  const lock = tryLock(join(folder, ownerId), true);
  if (lock === undefined) return;
  removeIfPossible(join(folder, ownerId));
  removeIfPossible(processPath(join(folder, ownerId)));
  lock.close();
}

/** The open lock; undefined if another handle holds it, or if the file must exist but does not. */
function tryLock(path: string, mustExist: boolean): Database | undefined {
  let database: Database | undefined;
  try {
    database = openDatabase(path, { mustExist });
    database.pragma('journal_mode = MEMORY'); // nothing is ever written, so no journal file is needed
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (isBusy(error) || (mustExist && isMissing(error))) return undefined;
    throw error;
  }
}

const rememberedLifeMs = 200;

/** The owners of a ledger file: this handle, other living handles, and gone ones. */
export class SqliteOwners {
  readonly ownerId: string = newOwnerId();
  readonly #folder: string;
  readonly #onForget: (ownerId: string) => void;
  /** The lock of this handle; undefined if it only reads. */
  readonly lock: OwnerLock | undefined;
  readonly #lives = new Set<string>();

  /** Takes its own lock unless it only reads. `onForget` removes what else belongs to a gone owner. */
  constructor(folder: string, readOnly: boolean, onForget: (ownerId: string) => void) {
    this.#folder = folder;
    this.#onForget = onForget;
    this.lock = readOnly ? undefined : takeOwnerLock(folder, this.ownerId);
  }

  statusOf(ownerId: string): OwnerStatus {
    if (ownerId === this.ownerId) return this.lock === undefined ? 'gone' : 'alive';
    return readOwnerStatus(this.#folder, ownerId);
  }

  findGone(): readonly string[] {
    const others = listOwners(this.#folder).filter((ownerId) => ownerId !== this.ownerId);
    return others.filter((ownerId) => !this.#lives.has(ownerId) && this.#isGone(ownerId));
  }

  forget(ownerId: string): void {
    if (this.statusOf(ownerId) !== 'gone') return;
    this.#onForget(ownerId);
    forgetOwner(this.#folder, ownerId);
  }

  /** Ends the ownership of this handle. */
  end(): void {
    this.lock?.end();
  }

  /** Caches for a moment that an owner may be alive: one check is cheap, one per turn and owner is not. */
  #isGone(ownerId: string): boolean {
    if (this.statusOf(ownerId) === 'gone') return true;
    this.#lives.add(ownerId);
    setTimeout(() => this.#lives.delete(ownerId), rememberedLifeMs).unref();
    return false;
  }
}
