import { accessSync, constants, mkdirSync } from 'node:fs';
import { exitCodes } from './exit-code.ts';
import { UsageError } from './usage-error.ts';

/** Creates a writable folder, or throws with the cause and a command to try. */
export function makeFolder(path: string, tryThis: readonly string[]): void {
  try {
    mkdirSync(path, { recursive: true });
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // a file system error
    const why = code === undefined ? undefined : reasons[code];
    if (why === undefined) throw error;
    throw new UsageError(`Cannot write to the folder ${path}: ${why}.`, tryThis, exitCodes.broken);
  }
}

const reasons: Readonly<Partial<Record<string, string>>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
  EEXIST: 'a file with that name exists',
  ENOTDIR: 'a file is part of its path',
  ENOSPC: 'the disk is full',
};
