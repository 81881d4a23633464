/** Removal of old or personal content. Both methods record the removal in the ledger. */
import type { DirectIdentity } from '../call/event.ts';
import type { NewArtifact } from './artifacts.ts';
import type { SideRow } from './side-row.ts';
import type { StoredEntry } from './stored-entry.ts';

/** Selects some entries of a session, or all of them. */
export type Erasure = {
  readonly sessionId: string;
  readonly entryIds?: readonly string[];
  readonly by: string;
  /** How the host identified the person who erases. Default: the name is self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason: string;
};

export type Removal = {
  readonly sessionId: string;
  readonly by: string;
  /** How the host identified the person who removes it. Default: the name is self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason: string;
  /** Removes the session only if its last entry has this hash. An entry that is not archived yet is never lost. */
  readonly lastHash?: string;
};

/** Each list can be read again: a database may ask to repeat a transaction. */
export type CopySource = {
  /** Every entry in order of position, up to the moment at which the copy began. */
  entries(): AsyncIterable<StoredEntry>;
  /** Rows outside the entries, which the entries of a ledger with removed sessions do not state completely. */
  sideRows(): AsyncIterable<Exclude<SideRow, { readonly kind: 'artifact' | 'sealed' | 'unsettled' }>>;
  sealed(): AsyncIterable<SealedInput>;
  artifacts(): AsyncIterable<NewArtifact>;
  /** Undefined if this process does not have the key. */
  readonly sealKey: Uint8Array | undefined;
};

export type SealedInput = { readonly sessionId: string; readonly callId: string; readonly text: string };

export type CopyTotals = { readonly entries: number; readonly sessions: number; readonly artifacts: number };

/**
 * Takes a copy over, all of it or nothing. Refuses a target with entries that the source does not have, and a target
 * that another process has open.
 */
export type TakeCopy = (source: CopySource, signal: AbortSignal) => Promise<CopyTotals>;
