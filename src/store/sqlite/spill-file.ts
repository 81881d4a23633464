/**
 * Where an owner keeps what the ledger could not take: a file made ready beforehand, so that a full disk has no say
 * in it. One line per entry with its digest in front; a line that was torn by a crash does not count.
 */
import { hash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { Entry, Spilled } from '../../ledger/ledger.ts';
import { ownerPattern } from './owner-lock.ts';

export class SpillFile {
  readonly #folder: string;
  readonly #ownerId: string;
  readonly #bytes: number;
  readonly #salt: () => string;
  #file: number | undefined;
  #used = 0;
  #lastEntryId: string | undefined;

  /** `bytes`: how much room to take beforehand. */
  constructor(folder: string, ownerId: string, bytes: number, salt: () => string) {
    this.#salt = salt;
    this.#folder = folder;
    this.#ownerId = ownerId;
    this.#bytes = bytes;
    this.#makeReady();
  }

  /** Whether there is room for what is likely to come: a quarter of the whole. */
  get isReady(): boolean {
    if (this.#file === undefined) this.#makeReady();
    return this.#file !== undefined && this.#bytes - this.#used >= this.#bytes / 4;
  }

  add(entry: Entry): boolean {
    // Appended later it would find the cursor elsewhere; and whoever reads on makes it again.
    if (this.#file === undefined || entry.cursor !== undefined) return false;
    const text = JSON.stringify(toSpilled(entry, this.#ownerId, this.#salt));
    const line = Buffer.from(`${hash('sha256', text)} ${text}\n`);
    if (this.#used + line.length > this.#bytes) return false;
    try {
      writeAll(this.#file, line, this.#used);
      fdatasyncSync(this.#file);
    } catch {
      return false; // the caller says what that means
    }
    this.#used += line.length;
    this.#lastEntryId = entry.entryId;
    return true;
  }

  /** Of this owner, and of those `isGone` says nobody will come back for. */
  read(isGone: (ownerId: string) => boolean): Spilled[] {
    return listFolder(this.#folder)
      .filter((ownerId) => ownerPattern.test(ownerId) && (ownerId === this.#ownerId || isGone(ownerId)))
      .map((ownerId) => ({ ownerId, entries: readLines(join(this.#folder, ownerId)) }))
      .filter(({ entries }) => entries.length > 0);
  }

  /** False where this owner has spilled more since that entry: then all of it stays. */
  drop(ownerId: string, lastEntryId: string | undefined = this.#lastEntryId): boolean {
    if (ownerId !== this.#ownerId) {
      if (ownerPattern.test(ownerId)) rmSync(join(this.#folder, ownerId), { force: true });
      return true;
    }
    if (this.#file === undefined) return true;
    if (lastEntryId !== this.#lastEntryId) return this.#used === 0;
    writeAll(this.#file, Buffer.alloc(this.#used), 0);
    fdatasyncSync(this.#file);
    this.#used = 0;
    return true;
  }

  /** Removes the file of an owner that is gone, if there is nothing in it. */
  forget(ownerId: string): void {
    const path = join(this.#folder, ownerId);
    if (ownerId === this.#ownerId || !ownerPattern.test(ownerId) || !existsSync(path)) return;
    if (readLines(path).length === 0) rmSync(path, { force: true });
  }

  /** Leaves the file where somebody must still read it. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    if (this.#used === 0) rmSync(join(this.#folder, this.#ownerId), { force: true });
  }

  #makeReady(): void {
    let file: number | undefined;
    try {
      mkdirSync(this.#folder, { recursive: true });
      file = openSync(join(this.#folder, this.#ownerId), 'w', 0o600);
      writeAll(file, Buffer.alloc(this.#bytes), 0);
      fsyncSync(file);
      this.#file = file;
    } catch {
      // No room now: `isReady` says so, and tries again.
      if (file === undefined) return;
      closeSync(file);
      rmSync(join(this.#folder, this.#ownerId), { force: true });
    }
  }
}

function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(file, bytes, done, bytes.length - done, at + done);
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // nobody has spilled anything yet
  }
}

function readLines(path: string): Entry[] {
  const entries: Entry[] = [];
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const text = line.slice(65);
    if (line[64] !== ' ' || line.slice(0, 64) !== hash('sha256', text)) break;
    entries.push(fromSpilled(JSON.parse(text) as SpilledText));
  }
  return entries;
}

/** As the ledger would have written it, and beside it what the ledger keeps in no entry. */
type SpilledText = {
  readonly text: string;
  readonly bodies?: string | undefined;
  readonly sealed?: string | undefined;
  readonly dropSealed?: boolean | undefined;
};

function toSpilled(entry: Entry, ownerId: string, salt: () => string): SpilledText {
  const { text, bodies } = writeEntry(entry, ownerId, salt);
  return { text, bodies, sealed: entry.sealed, dropSealed: entry.dropSealed };
}

function fromSpilled({ text, bodies, sealed, dropSealed }: SpilledText): Entry {
  const { entryId, sessionId, callId, expectedVersion, events, ...beside } = readEntry({ text, bodies });
  const { claim, releaseClaim, reserve, settle, moves, depth } = beside;
  return {
    entryId,
    sessionId,
    callId,
    expectedVersion,
    events: events as Entry['events'], // our own: of types we know
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
