/** A ledger as `quittance copy` reads it, and what a store must do to take it over. */
import type { NewArtifact } from './artifacts.ts';
import type { SideRow } from './side-row.ts';
import type { StoredEntry } from './stored-entry.ts';

/** Each list can be read again: a database may ask to repeat a transaction. */
export type CopySource = {
  /** Every entry in order of position, up to the moment at which the copy began. */
  entries(): AsyncIterable<StoredEntry>;
  /** Rows outside the entries, which the entries of a ledger with removed sessions do not state completely. */
  sideRows(): AsyncIterable<Exclude<SideRow, { readonly kind: 'artifact' | 'sealed' | 'unsettled' }>>;
  sealed(): AsyncIterable<SealedInput>;
  artifacts(): AsyncIterable<NewArtifact>;
  /** Undefined if this process does not have it. */
  readonly sealKey: Uint8Array | undefined;
};

export type SealedInput = { readonly sessionId: string; readonly callId: string; readonly text: string };

export type CopyTotals = { readonly entries: number; readonly sessions: number; readonly artifacts: number };

/**
 * Takes a copy over, all of it or nothing. Refuses a target with entries that the source does not have, and a target
 * that another process has open.
 */
export type TakeCopy = (source: CopySource, signal: AbortSignal) => Promise<CopyTotals>;
