/**
 * The files a writing handle depends on: the ledger, its log, the memory it shares with other processes, and the lock
 * that proves its life. A file that was moved, deleted or replaced keeps its open descriptor, so SQLite goes on writing
 * where no process will ever look. The writer asks inside every transaction, before it writes: the file system answers
 * in about a microsecond a file.
 */
import { QuittanceError } from '../../base/error.ts';
import type { FileIdentity } from '../files/file-identity.ts';
import { findReplaced, identifyFile } from '../files/file-identity.ts';
import type { OwnerLock } from './owner-lock.ts';

type OwnFile = { readonly what: string; readonly path: string; readonly file: FileIdentity };

export class SqliteOwnFiles {
  readonly #ledgerPath: string;
  readonly #files: OwnFile[];
  #isComplete = false;

  constructor(ledgerPath: string, lock: OwnerLock | undefined) {
    this.#ledgerPath = ledgerPath;
    this.#files = [...find('ledger file', ledgerPath)];
    if (lock !== undefined) this.#files.push({ what: 'lock file of this process', ...lock });
  }

  /** Throws where a file is not the one that was opened. To be called inside a transaction. */
  requireUnchanged(): void {
    if (!this.#isComplete) {
      // SQLite has opened these when the first transaction has begun, and keeps them until the last handle closes.
      this.#files.push(...find('log of the ledger', `${this.#ledgerPath}-wal`));
      this.#files.push(...find('shared memory of the ledger', `${this.#ledgerPath}-shm`));
      this.#isComplete = true;
    }
    for (const { what, path, file } of this.#files) {
      const found = findReplaced(path, file);
      if (found !== undefined) throw changedError(what, path, found);
    }
  }
}

function find(what: string, path: string): OwnFile[] {
  const file = identifyFile(path);
  return file === undefined ? [] : [{ what, path, file }];
}

const changedError = (what: string, path: string, found: 'missing' | 'replaced'): QuittanceError =>
  new QuittanceError(
    'ledger.unavailable',
    `The ${what}, ${path}, ${found === 'missing' ? 'was moved or deleted' : 'was replaced by another file'} while ` +
      'this process had it open. Nothing was written. Put the file back, or restart this process.',
    { path },
  );
