/**
 * The life of an owner: an exclusive lock on a small file of its own, held for as long as the handle is open. The
 * system keeps it for a process that is stopped and takes it back from one that is killed, whatever the clocks say.
 *
 * 1. The lock is an SQLite one, so that two handles of one process tell each other apart too: a bare file lock is the
 *    whole process's, and is lost when any of its descriptors is closed. Nobody else may open these files.
 * 2. Whoever removes the file of a dead owner holds its lock while doing so; whoever takes a lock looks afterwards
 *    whether the file is still there. So no living owner is left with a file that is gone.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import type { Database } from './database.ts';
import { isBusy, openDatabase } from './database.ts';

/** An id from elsewhere becomes a path only if it looks like one of ours. */
export const ownerPattern: RegExp = /^own_[0-9a-f]{24}$/;

export class OwnerLock {
  readonly ownerId: string;
  readonly #folder: string;
  readonly #lock: Database;

  /** Makes an owner and takes its lock. */
  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    for (;;) {
      const ownerId = `own_${randomBytes(12).toString('hex')}`;
      const lock = tryLock(join(folder, ownerId));
      if (lock === undefined) continue;
      if (existsSync(join(folder, ownerId))) {
        this.ownerId = ownerId;
        this.#lock = lock;
        return;
      }
      lock.close();
    }
  }

  isAlive(ownerId: string): boolean {
    if (ownerId === this.ownerId) return true;
    const path = this.#pathOf(ownerId);
    if (path === undefined || !existsSync(path)) return false;
    return isLocked(path);
  }

  /** Every owner that has left a file, dead or alive, but this one. */
  listOthers(): string[] {
    return readdirSync(this.#folder).filter((name) => ownerPattern.test(name) && name !== this.ownerId);
  }

  /** Removes what a dead owner left. Does nothing to a living one. */
  forget(ownerId: string): void {
    const path = this.#pathOf(ownerId);
    if (path === undefined || !existsSync(path)) return;
    const lock = tryLock(path);
    if (lock === undefined) return;
    rmSync(path, { force: true });
    lock.close();
  }

  /** Ends the owner. An owner without a file is a dead one. */
  close(): void {
    rmSync(join(this.#folder, this.ownerId), { force: true });
    this.#lock.close();
  }

  #pathOf(ownerId: string): string | undefined {
    return ownerPattern.test(ownerId) ? join(this.#folder, ownerId) : undefined;
  }
}

/** Looks without taking the lock, so that two who look at once do not take each other for the owner. */
function isLocked(path: string): boolean {
  const database = openDatabase(path);
  try {
    database.pragma('schema_version');
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** The open lock, or undefined where somebody else has it. */
function tryLock(path: string): Database | undefined {
  const database = openDatabase(path);
  try {
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}
