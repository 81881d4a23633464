import type { Clock } from '../../base/clock.ts';

export type PostgresLedgerOptions = {
  /** Decides expiry and days. The clock of the database by default, so that hosts agree. */
  readonly clock?: Clock | undefined;
  /** 32 bytes, the same in every process. By default from the environment or from `.quittance/seal.key`. */
  readonly sealKey?: Uint8Array | undefined;
  /** A file with the seal key: 32 bytes, as they are, as hex or as base64. */
  readonly sealKeyFile?: string | undefined;
  /** Gives the keys as they are now: another process may have rotated them. */
  readonly readSealKey?: (() => Uint8Array) | undefined;
  /** Opens the ledger for reading: appends are refused, and the handle does not count as an owner. */
  readonly readOnly?: boolean | undefined;
  /** The schema that holds the tables, `quittance` by default. */
  readonly schema?: string | undefined;
  /** A folder of this host for entries that the server could not take, `.quittance/spill` by default. */
  readonly spillFolder?: string | undefined;
  readonly spillBytes?: number | undefined;
  /** Connections that append, 2 by default. A session always uses the same one. */
  readonly writers?: number | undefined;
  /** Connections that read, 4 by default. */
  readonly readers?: number | undefined;
  /**
   * The URL of a direct connection that listens for notifications and proves that this process lives. Needed if the main
   * URL goes through a pooler in transaction mode. `false`: there is none. The process then asks for changes ten times a
   * second, and counts as alive as long as its lease lasts.
   */
  readonly listen?: string | false | undefined;
  /** How long an owner without a connection counts as alive, 15 seconds by default. */
  readonly ownerLeaseMs?: number | undefined;
  /** Appends that may wait for each writer, 50,000 by default. One more is refused with `ledger.unavailable`. */
  readonly maxQueued?: number | undefined;
  /** How long an append waits for a server that cannot be reached, 10 seconds by default. Then the entry is spilled. */
  readonly outageWaitMs?: number | undefined;
  /** Whether to create or upgrade the tables. Set it to false if the role of this process may not. */
  readonly migrate?: boolean | undefined;
};
