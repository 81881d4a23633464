/**
 * The ledger: what a store must provide. It has one port per kind of user, so that a store is written, and its
 * contract tested, part by part.
 *
 * 1. An exception from any method means that the store could not be reached or could not write.
 * 2. The entries decide. A store may have rows outside the entries to find a claim, a counter, a call, an unresolved
 *    effect or a state quickly. If such a row was changed or deleted, the entries give the answer, or the append is
 *    refused with `ledger.damaged`. An effect never runs again or exceeds its limit because of it. For this, an entry
 *    that reserves or settles also states the totals of its counters.
 */
import type { OwnFile } from '../policy/own-files/own-file.ts';
import type { Artifacts } from './artifacts.ts';
import type { Claims } from './claims.ts';
import type { Cursors } from './cursors.ts';
import type { Documents } from './documents.ts';
import type { Entries } from './entries.ts';
import type { Integrity } from './integrity.ts';
import type { Journal } from './journal.ts';
import type { Owners } from './owners.ts';
import type { Queries } from './queries.ts';
import type { Retention } from './retention.ts';
import type { Spill } from './spill.ts';
import type { StoreTrouble } from './store-trouble.ts';

export interface Ledger {
  readonly journal: Journal;
  readonly claims: Claims;
  readonly artifacts: Artifacts;
  readonly owners: Owners;
  readonly spill: Spill;
  readonly queries: Queries;
  readonly entries: Entries;
  readonly cursors: Cursors;
  readonly integrity: Integrity;
  readonly retention: Retention;
  /** Texts of the servers of this ledger. Absent for a ledger with files, where they are next to it. */
  readonly documents?: Documents | undefined;
  /** The files of the ledger, which no call may touch. Absent for a ledger without files. */
  readonly ownFiles?: readonly OwnFile[];
  /**
   * Reports problems that belong to no request, until the signal aborts. Absent for a ledger that has none of these.
   */
  readonly watchTrouble?: (listener: (trouble: StoreTrouble) => void, signal: AbortSignal) => void;
  /**
   * 32 bytes, or several keys as `key-ring.ts` writes them: the same for every process that may open sealed inputs of this
   * ledger.
   */
  readonly sealKey: Uint8Array;
  /** The keys as they are stored now, if another process may have rotated them. Absent where they come from the host. */
  readonly readSealKey?: (() => Uint8Array | undefined) | undefined;
  /** Milliseconds since 1970 by the clock that decides expiry and days. */
  readonly now: () => number;
  /** Writes what is queued, then ends the owner. No other method may be used afterwards. */
  close(): Promise<void>;
}

/** The session in whose chain the ledger records events about itself. Only the ledger appends to it. */
export const ledgerSessionId = 'quittance.ledger';
