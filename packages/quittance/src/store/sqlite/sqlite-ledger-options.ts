import type { Clock } from '../../base/deadlines.ts';
import type { Database } from './database.ts';
import { enlargeCache } from './database.ts';

export type SqliteLedgerOptions = {
  readonly clock?: Clock | undefined;
  /** 32 bytes. By default the key is read from a file next to the ledger, which is created on first use. */
  readonly sealKey?: Uint8Array | undefined;
  /** Gives the keys as they are now: another process may have rotated them. */
  readonly readSealKey?: (() => Uint8Array) | undefined;
  /**
   * `full` (default): an acknowledged append survives a power loss. `normal`: it survives a process crash, but a
   * power loss may drop the last commits.
   */
  readonly synchronous?: 'full' | 'normal' | undefined;
  /** Opens an existing ledger read-only: every append is refused, and there is no owner. */
  readonly readOnly?: boolean | undefined;
  /** Largest size of the file. Appends that do not fit are refused as on a full disk. */
  readonly maxBytes?: number | undefined;
  /** Space allocated in advance for entries that a full disk would not accept. 1 MiB by default. */
  readonly spillBytes?: number | undefined;
  /**
   * A ledger of an older version is upgraded before it is used, which takes about a minute for a million entries. Called
   * after each step, with the position that it has reached and the last one.
   */
  readonly onUpgrade?: ((progress: { readonly position: number; readonly end: number }) => void) | undefined;
};

/** The settings that every writing connection needs. */
export type WriteSettings = {
  readonly synchronous: 'full' | 'normal';
  readonly maxBytes: number | undefined;
};

export const writeSettings = ({ synchronous, maxBytes }: SqliteLedgerOptions): WriteSettings => ({
  synchronous: synchronous ?? 'full',
  maxBytes,
});

export function setUpToWrite(database: Database, { synchronous, maxBytes }: WriteSettings): void {
  database.pragma(`synchronous = ${synchronous === 'normal' ? 'NORMAL' : 'FULL'}`);
  enlargeCache(database);
  // Erased data must not remain in unused pages.
  database.pragma('secure_delete = ON');
  if (maxBytes === undefined) return;
  const pageBytes = database.pragma('page_size', { simple: true }) as number;
  database.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
}
