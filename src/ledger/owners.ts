/** The owners that write to the ledger, and which of their processes still live. */
import type { Awaitable } from '../base/json.ts';

export interface Owners {
  /** The owner that writes through this handle. Other processes can prove that it lives while the handle is open. */
  readonly ownerId: string;
  /** The runtimes that work through this handle. Each adds itself when it is created. */
  readonly runtimes: Set<MadeCalls>;
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

/** The calls that one runtime is making, by session and call id. */
export interface MadeCalls {
  has(key: string): boolean;
}

/** A store's knowledge about an owner. Absence of proof is `unknown`, never `gone`. */
export type OwnerStatus = 'alive' | 'gone' | 'unknown';
