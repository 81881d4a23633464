/** Writes small files next to the ledger: complete, flushed, and with a name that survives a power loss. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';

/** The name of a new file survives a power loss only if its folder is flushed. Not every system can open a folder. */
export function syncFolder(folder: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(folder, 'r');
    fsyncSync(descriptor);
  } catch {
    // A system that cannot open a folder flushes names by itself.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** The system may write fewer bytes than requested. */
export function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(file, bytes, done, bytes.length - done, at + done);
}

/** For files that are no longer needed: if one cannot be removed now, the next recovery tries again. */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Nothing depends on its absence.
  }
}
