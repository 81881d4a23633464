/**
 * The files that a writer depends on: the ledger, its log, its shared memory, and the lock of the owner. After a move,
 * deletion or replacement the open descriptor still works, so SQLite would write where no process will ever look. The
 * writer looks at each of them once per transaction, in its thread.
 */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { QuittanceError } from '../../base/error.ts';
import type { FileIdentity } from '../files/file-identity.ts';
import { findReplaced, identifyFile } from '../files/file-identity.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow } from './database.ts';

export type OpenedFile = { readonly what: string; readonly path: string; readonly file: FileIdentity };

/** The files of a ledger as a process has opened them. */
export const identifyOwnFiles = (
  ledgerPath: string,
  lock: Pick<OpenedFile, 'path' | 'file'> | undefined,
): readonly OpenedFile[] => [
  ...find('ledger file', ledgerPath),
  ...(lock === undefined ? [] : [{ what: 'lock file of this process', path: lock.path, file: lock.file }]),
  // SQLite opens these when it first reads, and keeps them until the last handle closes.
  ...find('log of the ledger', `${ledgerPath}-wal`),
  ...find('shared memory of the ledger', `${ledgerPath}-shm`),
];

function find(what: string, path: string): OpenedFile[] {
  const file = identifyFile(path);
  return file === undefined ? [] : [{ what, path, file }];
}

/** Throws if a file is not the one that was opened. */
export function requireUnchanged(files: readonly OpenedFile[]): void {
  for (const { what, path, file } of files) {
    const found = findReplaced(path, file);
    if (found !== undefined) throw changedError(what, path, found);
  }
}

const changedError = (what: string, path: string, found: 'missing' | 'replaced'): QuittanceError =>
  new QuittanceError(
    'ledger.unavailable',
    `The ${what}, ${path}, ${found === 'missing' ? 'was moved or deleted' : 'was replaced by another file'} while ` +
      'this process had it open. Nothing was written. Put the file back, or restart this process.',
    { path },
  );

/** The sizes of the parts of a log: its own head, and that of each page. */
const [headBytes, pageHeadBytes] = [32, 24];

/** Pages in the log, and how many of them are in the file. */
type LogSize = { readonly log: number; readonly checkpointed: number };

/** The log of a ledger, as a connection sees it. */
export class WriterLog {
  readonly #path: string;
  readonly #measure: Statement<LogSize>;
  readonly #bytesPerPage: number;
  #file: number | undefined;

  /** `path`: of the ledger file. */
  constructor(database: Database, path: string) {
    this.#path = `${path}-wal`;
    // Measures without copying anything.
    this.#measure = prepareRow<LogSize>(database, 'PRAGMA wal_checkpoint(NOOP)');
    this.#bytesPerPage = Number(database.pragma('page_size', { simple: true })) + pageHeadBytes;
  }

  /**
   * Throws if the log is shorter than what SQLite has written to it. SQLite notices that only after a restart, and
   * then drops the commits that are missing. Call between two transactions.
   */
  requireWhole(): void {
    const { log, checkpointed } = this.#size;
    if (log <= checkpointed) return; // all of it is in the file
    const neededBytes = headBytes + log * this.#bytesPerPage;
    // If it changed meanwhile, another process has written, or has started the log anew.
    if (this.#hasByte(neededBytes - 1) || this.#size.log !== log) return;
    throw new QuittanceError(
      'ledger.unavailable',
      `The log of the ledger, ${this.#path}, was cut while this process had it open: it is shorter than the ` +
        `${neededBytes} bytes of the stored calls. Nothing was written. Stop every process that uses the ledger, and ` +
        'restore a backup: quittance restore FOLDER NEW.db.',
      { path: this.#path },
    );
  }

  /** Reading a byte is quicker than asking for the size, which some file systems compute after each write. */
  #hasByte(at: number): boolean {
    if (this.#file === undefined && !existsSync(this.#path)) return false;
    this.#file ??= openSync(this.#path, 'r');
    return readSync(this.#file, Buffer.alloc(1), 0, 1, at) === 1;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  get #size(): LogSize {
    return this.#measure.get() as LogSize; // always a row
  }
}
