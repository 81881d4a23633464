/**
 * Stores entries of an owner that the ledger could not store. The file is allocated in advance, so that a full disk
 * cannot prevent it. It has one line per entry, prefixed with its digest. A line that was torn by a crash was never
 * acknowledged.
 *
 * 1. A descriptor alone proves nothing: before the runtime relies on the file, it must still be the file at its path.
 * 2. A line names its ledger. A spill never enters another ledger that happens to be at the same path.
 * 3. A missing file means that nothing was spilled. Any other failure to read is an error: recovery must not end
 *    calls whose outcomes it could not read.
 */
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../ledger/journal.ts';
import type { Spilled } from '../../ledger/spill.ts';
import type { FileIdentity } from './file-identity.ts';
import { findReplaced, identifyFile } from './file-identity.ts';
import { FolderStamps } from './folder-stamps.ts';
import { ownerPattern } from './owner-id.ts';
import type { SpillOwner } from './spill-lines.ts';
import { isAbsent, readSpillLines, SpillReader, writeSpillLine } from './spill-lines.ts';
import { removeIfPossible, syncFolder, writeAll } from './write-all.ts';

type OpenSpill = { readonly descriptor: number; readonly identity: FileIdentity };

export class SpillFile {
  readonly #place: SpillOwner;
  readonly #bytes: number;
  readonly #salt: () => string;
  readonly #stamps: FolderStamps;
  readonly #reader: SpillReader;
  #file: OpenSpill | undefined;
  #used = 0;
  #lastEntryId: string | undefined;
  /** Was the file found at its path in this turn of the event loop? */
  #isChecked = false;

  /** `bytes`: space to allocate. */
  constructor(place: SpillOwner, bytes: number, salt: () => string) {
    this.#place = place;
    this.#bytes = bytes;
    this.#salt = salt;
    this.#stamps = new FolderStamps([this.#path]);
    this.#reader = new SpillReader(place.ledgerId);
    this.#prepare();
  }

  /**
   * Is there enough space for likely entries? A quarter of the file must be free. Looks at the disk once per turn of
   * the event loop: hundreds of calls may ask in the same one.
   */
  get isReady(): boolean {
    if (!this.#isChecked && this.#isOnDisk()) {
      this.#isChecked = true;
      setImmediate(() => {
        this.#isChecked = false;
      });
    }
    return this.#isChecked && this.#bytes - this.#used >= this.#bytes / 4;
  }

  add(entry: Entry): boolean {
    // When appended later, it would find the cursor elsewhere; the next reader emits it again.
    if (entry.cursor !== undefined || !this.#isOnDisk() || this.#file === undefined) return false;
    const line = writeSpillLine(entry, this.#place, this.#salt);
    if (this.#used + line.length > this.#bytes) return false;
    try {
      writeAll(this.#file.descriptor, line, this.#used);
      fdatasyncSync(this.#file.descriptor);
      // Replaced meanwhile: no process will find the file that was written.
      if (findReplaced(this.#path, this.#file.identity) !== undefined) return false;
    } catch {
      this.#blank(line.length);
      return false; // the caller decides what that means
    }
    this.#used += line.length;
    this.#lastEntryId = entry.entryId;
    return true;
  }

  /** A refused line must not be found after a restart, but a line whose flush failed may be complete in the file. */
  #blank(length: number): void {
    try {
      if (this.#file !== undefined) writeAll(this.#file.descriptor, Buffer.alloc(length), this.#used);
    } catch {
      // The disk accepts nothing any more. After a restart the record may then contain the refused line.
    }
  }

  /** The spills of this owner, and of owners that are dead according to `isGone`. */
  read(isGone: (ownerId: string) => boolean): Spilled[] {
    const { folder, ownerId: ownId } = this.#place;
    return listFolder(folder)
      .filter((ownerId) => ownerPattern.test(ownerId) && (ownerId === ownId || isGone(ownerId)))
      .map((ownerId) => ({ ownerId, entries: this.#reader.read(join(folder, ownerId)).entries }))
      .filter(({ entries }) => entries.length > 0);
  }

  /** False if this owner has spilled more since that entry: then all of it stays. */
  drop(ownerId: string, lastEntryId: string | undefined = this.#lastEntryId): boolean {
    if (ownerId !== this.#place.ownerId) {
      if (ownerPattern.test(ownerId)) this.#dropOf(ownerId);
      return true;
    }
    if (this.#file === undefined) return true;
    if (lastEntryId !== this.#lastEntryId) return this.#used === 0;
    writeAll(this.#file.descriptor, Buffer.alloc(this.#used), 0);
    fdatasyncSync(this.#file.descriptor);
    this.#used = 0;
    return true;
  }

  /** Removes the file of a dead owner, if it is empty. */
  forget(ownerId: string): void {
    if (ownerId === this.#place.ownerId || !ownerPattern.test(ownerId)) return;
    const path = join(this.#place.folder, ownerId);
    const { entries, rest } = readSpillLines(path, this.#place.ledgerId);
    if (entries.length === 0 && rest === 'nothing') removeIfPossible(path);
  }

  /** Keeps the file if another process must still read it. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file.descriptor);
    this.#file = undefined;
    if (this.#used === 0) removeIfPossible(this.#path);
  }

  get #path(): string {
    return join(this.#place.folder, this.#place.ownerId);
  }

  /** Unreadable lines stay on disk under another name, for a person to inspect. */
  #dropOf(ownerId: string): void {
    const path = join(this.#place.folder, ownerId);
    this.#reader.forget(path);
    switch (readSpillLines(path, this.#place.ledgerId).rest) {
      case 'nothing':
        // If it stayed, it would be appended again and refused as a copy.
        removeIfPossible(path);
        return;
      case 'damaged':
        renameSync(path, `${path}.damaged`);
        return;
      case 'of_another_ledger':
        return;
    }
  }

  readonly #isSame = (): boolean =>
    this.#file !== undefined && findReplaced(this.#path, this.#file.identity) === undefined;

  /** Is the file at its path the one being written? If it was removed or replaced, it is created again. */
  #isOnDisk(): boolean {
    try {
      if (this.#file !== undefined && this.#stamps.confirm(this.#isSame)) return true;
    } catch {
      this.#isChecked = false;
      return false;
    }
    this.#isChecked = false;
    return this.#prepare();
  }

  /** Allocates the file, with the content of the lost one. */
  #prepare(): boolean {
    const lost = this.#file;
    const { folder } = this.#place;
    let descriptor: number | undefined;
    try {
      const content = Buffer.alloc(this.#bytes);
      if (lost !== undefined) readSync(lost.descriptor, content, 0, this.#used, 0);
      mkdirSync(folder, { recursive: true });
      descriptor = openSync(this.#path, 'wx+', 0o600);
      writeAll(descriptor, content, 0);
      fsyncSync(descriptor);
      syncFolder(folder);
      const identity = identifyFile(this.#path);
      if (identity === undefined) throw new Error('The spill file was removed while it was being created.');
      this.#file = { descriptor, identity };
    } catch {
      // No space now: `isReady` says so and retries.
      if (descriptor === undefined) return false;
      closeSync(descriptor);
      removeIfPossible(this.#path);
      return false;
    }
    if (lost !== undefined) closeSync(lost.descriptor);
    return true;
  }
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isAbsent(error)) return []; // no owner has spilled anything yet
    throw error;
  }
}
