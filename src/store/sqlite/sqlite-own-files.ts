/**
 * The files that a writing handle depends on: the ledger, its log, its shared memory, and the owner lock. After a
 * move, deletion or replacement the open descriptor still works, so SQLite would write where no process will ever
 * look. The writer checks inside every transaction, before it writes. `FolderStamps` makes that cheap.
 */
import { QuittanceError } from '../../base/error.ts';
import type { FileIdentity } from '../files/file-identity.ts';
import { findReplaced, identifyFile } from '../files/file-identity.ts';
import { FolderStamps } from '../files/folder-stamps.ts';

export type OpenedFile = { readonly what: string; readonly path: string; readonly file: FileIdentity };

export class SqliteOwnFiles {
  readonly #ledgerPath: string;
  readonly #files: OpenedFile[];
  #stamps: FolderStamps | undefined;

  /** `opened`: the files that the main thread has open. */
  constructor(ledgerPath: string, opened: readonly OpenedFile[]) {
    this.#ledgerPath = ledgerPath;
    this.#files = [...opened];
  }

  /** The files that were found so far. */
  get opened(): readonly OpenedFile[] {
    return [...this.#files];
  }

  /** Throws if a file is not the one that was opened. Call inside a transaction. */
  requireUnchanged(): void {
    const stamps = (this.#stamps ??= this.#complete());
    stamps.confirm(this.#look);
  }

  readonly #look = (): true => {
    for (const { what, path, file } of this.#files) {
      const found = findReplaced(path, file);
      if (found !== undefined) throw changedError(what, path, found);
    }
    return true;
  };

  #complete(): FolderStamps {
    // SQLite opens these when the first transaction begins, and keeps them until the last handle closes.
    this.#add('log of the ledger', `${this.#ledgerPath}-wal`);
    this.#add('shared memory of the ledger', `${this.#ledgerPath}-shm`);
    return new FolderStamps(this.#files.map(({ path }) => path));
  }

  /** A file that another thread of this process has identified stays that one. */
  #add(what: string, path: string): void {
    if (!this.#files.some((known) => known.path === path)) this.#files.push(...find(what, path));
  }
}

/** The files of a ledger as they are now: itself, and the lock of its owner. */
export const identifyOwnFiles = (
  ledgerPath: string,
  lock: Pick<OpenedFile, 'path' | 'file'> | undefined,
): readonly OpenedFile[] => [
  ...find('ledger file', ledgerPath),
  ...(lock === undefined ? [] : [{ what: 'lock file of this process', path: lock.path, file: lock.file }]),
];

function find(what: string, path: string): OpenedFile[] {
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
