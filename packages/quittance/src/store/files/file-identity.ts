/**
 * Is the file at a path still the file that was opened? After a move, deletion or replacement, the open descriptor
 * still works: writes to it succeed and are lost. Device and inode tell the files apart without a descriptor.
 */
import { statSync } from 'node:fs';

export type FileIdentity = { readonly device: number; readonly inode: number };

/** Undefined for a missing file. Throws if the file system does not answer. */
export function identifyFile(path: string): FileIdentity | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && { device: found.dev, inode: found.ino };
}

/** The problem with the file at the path; undefined if it is the file that was opened. */
export function findReplaced(path: string, opened: FileIdentity): 'missing' | 'replaced' | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'missing';
  return found.ino === opened.inode && found.dev === opened.device ? undefined : 'replaced';
}
