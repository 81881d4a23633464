/** Who writes to the ledger, and which of those processes still live. */
import type { Awaitable } from '../base/json.ts';

export interface Owners {
  /** The owner that writes through this handle. Others can prove that it lives for as long as the handle is open. */
  readonly ownerId: string;
  /** Calls that runtimes make through this handle, with the number of runtimes for each. The runtimes maintain it. */
  readonly inHand: Map<string, number>;
  /**
   * Does the owner still live? A slow or stopped owner is `alive`. Only an owner proven dead is `gone`. When the store
   * cannot look (no descriptors, no permission, an I/O error), the answer is `unknown`, and nothing may be taken over.
   */
  statusOf(ownerId: string): Awaitable<OwnerStatus>;
  /** Owners proven dead and not forgotten yet. Cheap: every turn asks this. */
  findGone(): Awaitable<readonly string[]>;
  /** Records that every call of a gone owner was recovered. */
  forget(ownerId: string): Awaitable<void>;
}

/** What a store knows about the life of an owner. Absence of proof is `unknown`, never `gone`. */
export type OwnerStatus = 'alive' | 'gone' | 'unknown';
