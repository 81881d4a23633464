/**
 * The life of an owner: an exclusive lock on a small file of its own, held for as long as the handle is open. The
 * system keeps it for a process that is stopped and takes it back from one that is killed, whatever the clocks say.
 *
 * 1. The lock is an SQLite one, so that two handles of one process tell each other apart too: a bare file lock is the
 *    whole process's, and is lost when any of its descriptors is closed. Nobody else may open these files.
 * 2. Whoever removes the file of a dead owner holds its lock while doing so; whoever takes a lock looks afterwards
 *    whether the file is still there. So no living owner is left with a file that is gone.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from './database.ts';
import { isBusy, isMissing, openDatabase } from './database.ts';

/** An id from elsewhere becomes a path only if it looks like one of ours. */
export const ownerPattern: RegExp = /^own_[0-9a-f]{24}$/;

export const newOwnerId = (): string => `own_${randomBytes(12).toString('hex')}`;

/** Makes the file of an owner and takes its lock. Ends the owner when called again. */
export function takeOwnerLock(folder: string, ownerId: string): () => void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, ownerId);
  for (;;) {
    const lock = tryLock(path, false);
    if (lock !== undefined && existsSync(path))
      return () => {
        // The file first: without it an owner is dead, lock or not.
        rmSync(path, { force: true });
        lock.close();
      };
    lock?.close();
  }
}

/** False for owners without a file, and for anything that is no owner. */
export function isOwnerAlive(folder: string, ownerId: string): boolean {
  if (!ownerPattern.test(ownerId)) return false;
  let database: Database | undefined;
  try {
    // Looks without taking the lock, so that two who look at once do not take each other for the owner.
    database = openDatabase(join(folder, ownerId), { readOnly: true, mustExist: true });
    database.pragma('schema_version');
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    if (isMissing(error)) return false;
    throw error;
  } finally {
    database?.close();
  }
}

/** Every owner that has left a file, dead or alive. */
export function listOwners(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => ownerPattern.test(name)) : [];
}

/** Removes what a dead owner left. Does nothing to a living one. */
export function forgetOwner(folder: string, ownerId: string): void {
  if (!ownerPattern.test(ownerId)) return;
  const lock = tryLock(join(folder, ownerId), true);
  if (lock === undefined) return;
  rmSync(join(folder, ownerId), { force: true });
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
