import { accessSync, constants, mkdirSync } from 'node:fs';
import { exitCodes } from './exit-code.ts';
import { UsageError } from './usage-error.ts';

/** Makes a folder that can be written to, or says why not and what to type instead. */
export function makeFolder(path: string, tryThis: readonly string[]): void {
  try {
    mkdirSync(path, { recursive: true });
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // what the file system throws
    const why = code === undefined ? undefined : reasons[code];
    if (why === undefined) throw error;
    throw new UsageError(`Nothing can be written to the folder ${path}: ${why}.`, tryThis, exitCodes.broken);
  }
}

const reasons: Readonly<Partial<Record<string, string>>> = {
  EACCES: 'you have no right to',
  EPERM: 'you have no right to',
  EROFS: 'the disk is read-only',
  EEXIST: 'a file of that name is in its place',
  ENOTDIR: 'a file is where a folder should be',
  ENOSPC: 'the disk is full',
};
