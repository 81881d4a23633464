import type { Clock } from '../../base/clock.ts';

export type SqliteLedgerOptions = {
  readonly clock?: Clock | undefined;
  /** 32 bytes. Without it the key is read from a file beside the ledger, which is made on first use. */
  readonly sealKey?: Uint8Array | undefined;
  /**
   * `full`, the default: what was told is on disk even if the power goes. `normal`: even if the process or the
   * system's programs go, but a power cut may take the last commits.
   */
  readonly synchronous?: 'full' | 'normal' | undefined;
  /** Opens a ledger that is there, to read it only: every append is refused, and there is no owner. */
  readonly readOnly?: boolean | undefined;
  /** How large the file may grow. Appends that do not fit are refused as on a full disk. */
  readonly maxBytes?: number | undefined;
  /** Room taken beforehand for what a full disk would not take. 1 MiB by default. */
  readonly spillBytes?: number | undefined;
};

/** Measured once; other values are for tests. */
export type SqliteTuning = {
  /** Entries after which the newest are written to the index. */
  readonly longestTail: number;
  /** How far behind the read tables may be before a thread of their own fills them. */
  readonly threadLag: number;
};

/** Writing so many to the index at once costs a third of writing each with its entry, and takes milliseconds. */
export const measuredTuning: SqliteTuning = { longestTail: 4_096, threadLag: 10_000 };
