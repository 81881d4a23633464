/**
 * The ledger: what a store must provide. It is put together from one port for each kind of user, so that a store is
 * written, and its contract tested, part by part.
 *
 * 1. An exception of any method means that the store could not be reached or could not write.
 * 2. The entries decide. A store may keep rows outside the entries to find a claim, a counter, a call, an effect in
 *    doubt or a state quickly. If such a row was changed or deleted, the answer is what the entries say, or the append
 *    is refused with `ledger.damaged`; it never lets an effect run again or past its limit. For this, an entry that
 *    reserves or settles also states the totals of its counters.
 */
import type { OwnFile } from '../policy/own-files/own-file.ts';
import type { Artifacts } from './artifacts.ts';
import type { Claims } from './claims.ts';
import type { Cursors } from './cursors.ts';
import type { Entries } from './entries.ts';
import type { Integrity } from './integrity.ts';
import type { Journal } from './journal.ts';
import type { Owners } from './owners.ts';
import type { Queries } from './queries.ts';
import type { Retention } from './retention.ts';
import type { Spill } from './spill.ts';

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
  /** The files of the ledger, which no call may touch. Left out by a ledger without files. */
  readonly ownFiles?: readonly OwnFile[];
  /** 32 bytes, the same for every process that may open what is sealed in this ledger. */
  readonly sealKey: Uint8Array;
  /** Milliseconds since 1970 by the clock that decides expiry and days. */
  now(): number;
  /** Writes what was handed over, then ends the owner. No other method may be used afterwards. */
  close(): Promise<void>;
}

/** The session in whose chain the ledger writes about itself. Only the ledger appends to it. */
export const ledgerSessionId = 'quittance.ledger';
