import { accessSync, constants, mkdirSync } from 'node:fs';
import { exitCodes } from './exit-code.ts';
import { whyRefused } from './system-error.ts';
import { UsageError } from './usage-error.ts';

/** Creates a writable folder, or throws with the cause and a command to try. */
export function makeFolder(path: string, tryThis: readonly string[]): void {
  try {
    mkdirSync(path, { recursive: true });
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    const why = whyRefused(error);
    if (why === undefined) throw error;
    throw new UsageError(`Cannot write to the folder ${path}: ${why}.`, tryThis, exitCodes.broken);
  }
}
