/** The owners that write to the ledger, and which of their processes still live. */
import type { Awaitable } from '../base/json.ts';

export interface Owners {
  /** The owner that writes through this handle. Other processes can prove that it lives while the handle is open. */
  readonly ownerId: string;
  /** Calls that runtimes run through this handle, with the number of runtimes for each. The runtimes maintain it. */
  readonly openCalls: Map<string, number>;
  /**
   * Is the owner still alive? A slow or stopped owner is `alive`. Only an owner proven dead is `gone`. If the store
   * cannot check (no descriptors, no permission, an I/O error), the answer is `unknown`, and nothing may be taken
   * over.
   */
  statusOf(ownerId: string): Awaitable<OwnerStatus>;
  /** Owners proven dead and not forgotten yet. Cheap: every turn asks this. */
  findGone(): Awaitable<readonly string[]>;
  /** Records that every call of a gone owner was recovered. */
  forget(ownerId: string): Awaitable<void>;
}

/** A store's knowledge about an owner. Absence of proof is `unknown`, never `gone`. */
export type OwnerStatus = 'alive' | 'gone' | 'unknown';
