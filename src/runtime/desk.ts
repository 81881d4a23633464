import type { CallInHand } from './call-in-hand.ts';
import type { Engine } from './engine.ts';

/** A runtime at work: what it is made of and the calls it is making. */
export type Desk = {
  readonly engine: Engine;
  /** By session and call id. */
  readonly inHand: Map<string, CallInHand>;
  closed: boolean;
};
