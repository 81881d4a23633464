/**
 * Is the file behind a path still the file that was opened? A file that was moved, deleted or replaced keeps its open
 * descriptor: writes to it succeed and are lost. Device and inode tell the two apart without a descriptor.
 */
import { statSync } from 'node:fs';

export type FileIdentity = { readonly device: number; readonly inode: number };

/** Undefined for a missing file. Throws where the file system does not answer. */
export function identifyFile(path: string): FileIdentity | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && { device: found.dev, inode: found.ino };
}

/** What is wrong with the file at the path, in words; undefined where it is the file that was opened. */
export function findReplaced(path: string, opened: FileIdentity): 'missing' | 'replaced' | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'missing';
  return found.ino === opened.inode && found.dev === opened.device ? undefined : 'replaced';
}
