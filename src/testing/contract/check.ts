/** What a check of the contract is given, and what it is. */
import type { Ledger } from '../../ledger/ledger.ts';
import type { ManualClock } from '../manual-clock.ts';

export type Scene = {
  /** A ledger nobody has appended to. */
  readonly ledger: Ledger;
  /** The clock it was opened with. */
  readonly clock: ManualClock;
  /** One more handle on the same store, as another process would have. Closed when the check is over. */
  readonly another: () => Promise<Ledger>;
};

/** A sentence about every ledger, and what proves it: it rejects where the sentence does not hold. */
export type Check = readonly [sentence: string, prove: (scene: Scene) => Promise<void>];
