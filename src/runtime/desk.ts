import type { CallInHand } from './call-in-hand.ts';
import type { Engine } from './engine.ts';

/** A runtime at work: what it is made of and the calls it is making. */
export type Desk = {
  readonly engine: Engine;
  /** By session and call id. */
  readonly inHand: Map<string, CallInHand>;
  /** Calls the ledger knows of and could not take the end of. By session and call id. */
  readonly stranded: Map<string, CallInHand>;
  settling: Promise<void> | undefined;
  closed: boolean;
};
