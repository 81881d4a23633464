/** A check of the contract and the scene it receives. */
import type { OpenLedger } from '../../ledger/ledger.ts';
import type { ManualClock } from '../manual-clock.ts';

export type Scene = {
  /** A ledger without entries. */
  readonly ledger: OpenLedger;
  /** The clock it was opened with. */
  readonly clock: ManualClock;
  /** Opens another handle on the same store, as another process would. Closed after the check. */
  readonly another: () => Promise<OpenLedger>;
};

/** A sentence about every ledger and its proof, which rejects if the sentence does not hold. */
export type Check = readonly [sentence: string, prove: (scene: Scene) => Promise<void>];
