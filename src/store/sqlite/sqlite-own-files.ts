/**
 * The files that a writing handle depends on: the ledger, its log, its shared memory, and the owner lock. After a move, deletion or replacement the open descriptor still works,
 * so SQLite would write where no process will ever look. The writer checks inside every transaction, before it writes.
 * A check takes about a microsecond per file.
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

  /** Throws if a file is not the one that was opened. Call inside a transaction. */
  requireUnchanged(): void {
    if (!this.#isComplete) {
      // SQLite opens these when the first transaction begins, and keeps them until the last handle closes.
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
