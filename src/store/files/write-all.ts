/** Writes to small files beside the ledger: whole, flushed, and with a name that survives a power loss. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';

/** The name of a new file survives a power loss only if its folder is flushed. Not every system lets us open one. */
export function syncFolder(folder: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(folder, 'r');
    fsyncSync(descriptor);
  } catch {
    // Such a system flushes names by itself.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** The system may take fewer bytes than it is given. */
export function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(file, bytes, done, bytes.length - done, at + done);
}

/** For files that are of no more use: where one cannot be removed now, the next recovery tries again. */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Nothing depends on its absence.
  }
}
