/**
 * The life of an owner: an exclusive lock on a small file of its own, held for as long as the handle is open. The
 * system keeps it for a process that is stopped and takes it back from one that is killed, whatever the clocks say.
 *
 * 1. The lock is an SQLite one, so that two handles of one process tell each other apart too: a bare file lock is the
 *    whole process's, and is lost when any of its descriptors is closed. Nobody else may open these files.
 * 2. Whoever removes the file of a dead owner holds its lock while doing so; whoever takes a lock looks afterwards
 *    whether the file is still there. So no living owner is left with a file that is gone.
 */
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { OwnerStatus } from '../../ledger/owners.ts';
import type { Database } from './database.ts';
import { isBusy, isMissing, isNoDatabase, openDatabase } from './database.ts';
import type { FileIdentity } from '../files/file-identity.ts';
import { identifyFile } from '../files/file-identity.ts';
import { ownerPattern } from '../files/owner-id.ts';
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
    if (lock !== undefined && file !== undefined)
      return {
        path,
        file,
        end: () => {
          // The file first: without it an owner is gone, locked or not.
          removeIfPossible(path);
          lock.close();
        },
      };
    lock?.close();
  }
}

/**
 * A free lock or a missing file proves that the owner is gone. Every other failure to look (no descriptors left, no
 * permission, an I/O error) proves nothing. An id that is not one of ours belongs to no living owner.
 */
export function readOwnerStatus(folder: string, ownerId: string): OwnerStatus {
  if (!ownerPattern.test(ownerId)) return 'gone';
  const path = join(folder, ownerId);
  let database: Database | undefined;
  try {
    // Looks without taking the lock, so that two processes that look at once do not take each other for the owner.
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

/** SQLite says the same of a missing file and of one it may not open: only the file system can tell. */
function isProvenMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** Every owner that has left a file, dead or alive. Empty when the folder cannot be read: then no death is proven. */
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
  lock.close();
}

/** The open lock; undefined where somebody else has it, or there is no such file although there must be. */
function tryLock(path: string, mustExist: boolean): Database | undefined {
  let database: Database | undefined;
  try {
    database = openDatabase(path, { mustExist });
    database.pragma('journal_mode = MEMORY'); // nothing is ever written: no file for that either
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (isBusy(error) || (mustExist && isMissing(error))) return undefined;
    throw error;
  }
}
