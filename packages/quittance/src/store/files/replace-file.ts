/** Changes of small files that several processes share: a lock between them, and a replacement in one step. */
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { QuittanceError } from '../../base/error.ts';

/** A process holds the lock for a few milliseconds to change the file. An old lock is left from a crash. */
export function lockFile(path: string, what: string): () => void {
  for (let tries = 0; ; tries++)
    try {
      closeSync(openSync(path, 'wx', 0o600));
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > staleLockMs) rmSync(path, { force: true });
      else if (tries > 200)
        throw new QuittanceError(
          'ledger.unavailable',
          `Another process is changing the ${what}: ${path} exists. Try again.`,
        );
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
}
const staleLockMs = 5_000;

/** Replaces the file in one step. Only its owner can read it. */
export function replaceFile(path: string, content: string): void {
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true }); // on a full disk, a leftover draft takes up space
    throw error;
  }
}
