import type { Clock } from '../../base/clock.ts';
import type { WriteSettings } from './write-parts.ts';

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
};

/** The settings that every writing connection needs. */
export const writeSettings = ({ synchronous, maxBytes }: SqliteLedgerOptions): WriteSettings => ({
  synchronous: synchronous ?? 'full',
  maxBytes,
});

/** Measured values; others are for tests. */
export type SqliteTuning = {
  /** Number of entries after which the newest are written to the index. */
  readonly longestTail: number;
  /** How far behind the read tables may be before a separate thread fills them. */
  readonly threadLag: number;
  /** How long a query waits for another process that has locked the read tables and makes no progress. */
  readonly tablePatienceMs: number;
  /** When the writer thread writes: as the load demands, whenever it can, or never. */
  readonly writerThread: 'auto' | 'always' | 'never';
  /** Options of Node for the writer thread. */
  readonly writerThreadArgv: readonly string[];
};

/** Writing this many to the index at once costs a third of writing each with its entry, and takes milliseconds. */
export const measuredTuning: SqliteTuning = {
  longestTail: 4_096,
  threadLag: 10_000,
  tablePatienceMs: 10_000,
  writerThread: 'auto',
  writerThreadArgv: [],
};
