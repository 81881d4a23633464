/** Claims on keys, budget counters and unresolved effects: an append is checked against these. */
import type { Awaitable } from '../base/json.ts';
import type { LookUp } from './look-up.ts';

export interface Claims {
  readClaim(claimKey: string): Awaitable<ClaimHolder | undefined>;
  /** The used and the reserved amount of each counter, in the order asked. */
  readCounters(names: readonly string[]): Awaitable<readonly Counter[]>;
  /**
   * Calls of the session with this tool and input whose effect may have happened unseen, oldest first. A resolution
   * removes a call from the list unless it says that the effect did happen.
   */
  findUnsettledEffects(
    sessionId: string,
    toolName: string,
    inputDigest: string,
    lookUp?: LookUp,
  ): Awaitable<readonly string[]>;
}

/** Claims a tool's idempotency key, unless another call has it. */
export type Claim = {
  readonly key: string;
  readonly inputDigest: string;
  /** A person allowed to rerun what this unresolved call did: its claim passes on. */
  readonly supersedes?: Pick<ClaimHolder, 'sessionId' | 'callId'>;
};
export type ClaimHolder = {
  readonly sessionId: string;
  readonly callId: string;
  readonly inputDigest: string;
};

/** Reserves `amount` if that much is left under `limit`, else nothing. */
export type Reservation = { readonly counter: string; readonly amount: number; readonly limit: number };
/**
 * Returns the reserved amount and charges the used amount. With `reset` the used amount becomes `used`, whatever it
 * was.
 */
export type Settlement = {
  readonly counter: string;
  readonly reserved: number;
  readonly used: number;
  readonly reset?: true | undefined;
};
export type Counter = { readonly used: number; readonly reserved: number };
/** The total of a counter after an entry. It is part of the entry's hashed text: see rule 2 of `ledger.ts`. */
export type CounterTotal = Counter & { readonly counter: string };
