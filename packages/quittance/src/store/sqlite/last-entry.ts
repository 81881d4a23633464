/**
 * A small file next to a ledger with the place of its last entry. If the ledger lacks that entry later, its main file was
 * replaced by an older copy, and calls that ran since then would look new. The file may be behind by a second.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Database, Statement } from './database.ts';
import { prepareRow } from './database.ts';

export type LastEntry = { readonly ledgerId: string; readonly position: number; readonly hash: string };

const restMs = 1_000;

export const lastEntryPath = (path: string): string => `${path}.last`;

/** Undefined if there is no such file, or it was not written by this program. */
export function readLastEntry(path: string): LastEntry | undefined {
  try {
    const found = JSON.parse(readFileSync(lastEntryPath(path), 'utf8')) as Partial<LastEntry> | null;
    const { ledgerId, position, hash } = found ?? {};
    return typeof ledgerId === 'string' && Number.isSafeInteger(position) && typeof hash === 'string'
      ? { ledgerId, position: position as number, hash } // checked
      : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the file of a ledger that this process appends to: soon after a commit, and at the end. */
export class LastEntryFile {
  readonly #path: string;
  readonly #ownerId: string;
  readonly #last: Statement<LastEntry>;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, path: string, ownerId: string) {
    this.#path = path;
    this.#ownerId = ownerId;
    this.#last = prepareRow(
      database,
      'SELECT ledger_id AS ledgerId, position, hash FROM ledger, entries ORDER BY position DESC LIMIT 1',
    );
  }

  noteCommit(): void {
    this.#timer ??= setTimeout(() => this.#write(), restMs).unref();
  }

  close(): void {
    if (this.#timer !== undefined) this.#write();
  }

  /** Without the file an older copy is noticed only by an anchor: no reason to fail. */
  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      const last = this.#last.get();
      if (last === undefined) return;
      // Not flushed: after a power loss the file may be older.
      const draft = `${lastEntryPath(this.#path)}.${this.#ownerId}`;
      writeFileSync(draft, JSON.stringify(last), { mode: 0o600 });
      renameSync(draft, lastEntryPath(this.#path));
    } catch {
      return;
    }
  }
}
