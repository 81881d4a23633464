/**
 * The package `@quittance/postgres`, which opens ledgers in PostgreSQL. It is loaded with the first URL of such a ledger,
 * so that a process without one needs neither the package nor its driver.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import type { Clock } from '../base/deadlines.ts';
import { QuittanceError } from '../base/error.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { OwnFile } from '../policy/own-files/own-file.ts';

/** What the package exports. `index.test-d.ts` of the package compares the two. */
export type PostgresPackage = {
  /** Throws `config.invalid` for a mistake in the URL. Opens nothing. */
  readonly checkPostgresUrl: (url: string) => void;
  /** Throws `config.invalid` if the driver is not installed. Does not load it. */
  readonly requireDriver: () => void;
  /** The URL with the certificates of the environment. */
  readonly withPgEnvironment: (url: string, env: Readonly<Record<string, string | undefined>>) => string;
  readonly openPostgresLedger: (url: string, options?: PostgresLedgerOptions) => Promise<OpenLedger>;
};

const load = createRequire(import.meta.url);

/** Throws `config.invalid` if the package is not installed. */
export function postgresPackage(): PostgresPackage {
  try {
    return load('@quittance/postgres') as PostgresPackage; // compared in a type test of the package
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'MODULE_NOT_FOUND') throw error;
    throw new QuittanceError(
      'config.invalid',
      'A PostgreSQL ledger needs two more packages. Install them in your project: npm install @quittance/postgres pg.',
      { package: '@quittance/postgres' },
    );
  }
}

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
  /**
   * A ledger of an older version is upgraded before it is used. Called after each step, with the number of entries that
   * it has reached and their number.
   */
  readonly onUpgrade?: ((progress: { readonly position: number; readonly end: number }) => void) | undefined;
};

export const defaultSpillFolder = '.quittance/spill';

/** The files of this host that belong to the ledger: no call may touch them. */
export function postgresOwnFiles({
  readOnly,
  spillFolder = defaultSpillFolder,
  sealKeyFile,
}: Pick<PostgresLedgerOptions, 'readOnly' | 'spillFolder' | 'sealKeyFile'>): readonly OwnFile[] {
  const paths = [
    ...(readOnly === true ? [] : [spillFolder]),
    ...(sealKeyFile === undefined ? [] : [sealKeyFile]),
  ];
  return paths.map((path) => ({
    path: resolve(path),
    kind: 'ledger',
    access: 'sealed',
    withCompanions: false,
  }));
}
