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
  readFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../ledger/journal.ts';
import type { Spilled } from '../../ledger/ledger.ts';
import type { FileIdentity } from './file-identity.ts';
import { findReplaced, identifyFile } from './file-identity.ts';
import { ownerPattern } from './owner-id.ts';
import { removeIfPossible, syncFolder, writeAll } from './write-all.ts';
import { randomBytes, hash } from 'node:crypto';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';

type OpenSpill = { readonly descriptor: number; readonly identity: FileIdentity };

export class SpillFile {
  readonly #place: SpillOwner;
  readonly #bytes: number;
  readonly #salt: () => string;
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

  #isSame(): boolean {
    return this.#file !== undefined && findReplaced(this.#path, this.#file.identity) === undefined;
  }

  /** Is the file at its path the one being written? If it was removed or replaced, it is created again. */
  #isOnDisk(): boolean {
    try {
      if (this.#isSame()) return true;
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

/** A multiple of three bytes, so that no two salts share a base64 group. */
const saltBytes = 18;
const saltChars = 24;
const perDraw = 256;

/** Random texts, generated many at a time: a system call costs more than a salt. */
export function createSalts(): () => string {
  let drawn = '';
  let next = 0;
  return () => {
    if (next >= drawn.length) {
      drawn = randomBytes(saltBytes * perDraw).toString('base64url');
      next = 0;
    }
    next += saltChars;
    return drawn.slice(next - saltChars, next);
  };
}

/** The lines of a spill file: one entry each, prefixed with its digest. */

/** The owner and the ledger of a spill. */
type SpillOwner = { readonly folder: string; readonly ownerId: string; readonly ledgerId: string };

/** `rest`: content of the file other than these entries. */
type SpillLines = {
  readonly entries: readonly Entry[];
  readonly rest: 'nothing' | 'damaged' | 'of_another_ledger';
};

/** Reads every complete line. A broken line at the end was torn by a crash; one before a complete line is damage. */
export const readSpillLines = (path: string, ledgerId: string): SpillLines =>
  new SpillReader(ledgerId).read(path);

type ReadText = SpillLines & { readonly text: string; readonly endsBroken: boolean };
const nothing: ReadText = { text: '', entries: [], rest: 'nothing', endsBroken: false };

/**
 * Reads spill files again and again, and parses only what was added. While the ledger fails, each new call looks here for
 * its outcome.
 */
class SpillReader {
  readonly #ledgerId: string;
  readonly #known = new Map<string, ReadText>();

  constructor(ledgerId: string) {
    this.#ledgerId = ledgerId;
  }

  read(path: string): SpillLines {
    const text = readText(path);
    const known = this.#known.get(path) ?? nothing;
    if (text === known.text) return known;
    const read = this.#continue(text.startsWith(known.text) ? known : nothing, text);
    // Only whole lines can be continued.
    if (text.endsWith('\n')) this.#known.set(path, read);
    else this.#known.delete(path);
    return read;
  }

  /** The file is gone. */
  forget(path: string): void {
    this.#known.delete(path);
  }

  #continue(known: ReadText, text: string): ReadText {
    const entries = [...known.entries];
    let { rest, endsBroken } = known;
    for (const line of text.slice(known.text.length).split('\n')) {
      const spilled = parseLine(line);
      if (spilled === undefined) {
        endsBroken ||= line.replaceAll('\0', '') !== '';
        continue;
      }
      if (endsBroken) rest = 'damaged';
      if (spilled.of !== undefined && spilled.of !== this.#ledgerId) rest = 'of_another_ledger';
      else entries.push(spilled.entry);
    }
    return { text, entries, rest, endsBroken };
  }
}

/** The text of a spill without the blank rest of its file, which is usually almost all of it. */
function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    return bytes.toString('utf8', 0, lengthWithoutBlanks(bytes));
  } catch (error) {
    if (isAbsent(error)) return ''; // another process has imported it meanwhile
    throw error;
  }
}

const blank = Buffer.alloc(65_536);

function lengthWithoutBlanks(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0) {
    const from = Math.max(0, end - blank.length);
    if (!bytes.subarray(from, end).equals(blank.subarray(0, end - from))) break;
    end = from;
  }
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
}

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

function parseLine(line: string): { readonly entry: Entry; readonly of: string | undefined } | undefined {
  const text = line.slice(65);
  if (line[64] !== ' ' || line.slice(0, 64) !== hash('sha256', text)) return undefined;
  try {
    const spilled = JSON.parse(text) as SpilledText;
    return { entry: fromSpilled(spilled), of: spilled.ledger };
  } catch {
    return undefined; // its digest matches, so another program wrote it
  }
}

export function writeSpillLine(entry: Entry, place: SpillOwner, salt: () => string): Buffer {
  const text = JSON.stringify(toSpilled(entry, place, salt));
  return Buffer.from(`${hash('sha256', text)} ${text}\n`);
}

/** As the ledger would have written it, plus the state that the ledger stores outside entries. */
type SpilledText = {
  readonly text: string;
  readonly bodies?: string | undefined;
  readonly sealed?: string | undefined;
  readonly dropSealed?: boolean | undefined;
  /** Files of earlier versions do not name their ledger. */
  readonly ledger?: string | undefined;
};

function toSpilled(entry: Entry, { ownerId, ledgerId }: SpillOwner, salt: () => string): SpilledText {
  const { text, bodies } = writeEntry(entry, ownerId, salt);
  return { text, bodies, sealed: entry.sealed, dropSealed: entry.dropSealed, ledger: ledgerId };
}

function fromSpilled({ text, bodies, sealed, dropSealed }: SpilledText): Entry {
  const { entryId, sessionId, callId, expectedVersion, events, ...parts } = readEntry({ text, bodies });
  const { claim, releaseClaim, reserve, settle, moves, depth } = parts;
  return {
    entryId,
    sessionId,
    callId,
    expectedVersion,
    events: events as Entry['events'], // written by us: of known types
    ...(claim !== undefined && { claim }),
    ...(releaseClaim !== undefined && { releaseClaim }),
    ...(reserve !== undefined && { reserve }),
    ...(settle !== undefined && { settle }),
    ...(moves !== undefined && { moves }),
    ...(depth > 0 && { depth }),
    ...(sealed !== undefined && { sealed }),
    ...(dropSealed !== undefined && { dropSealed }),
  };
}
