/** Claims on keys, budget counters and unresolved effects: an append is checked against these. */

/** Claims a tool's idempotency key, unless another call has it. */
export type Claim = {
  readonly key: string;
  readonly inputDigest: string;
  /** The unresolved call whose claim passes to this one, because a person allowed a rerun. */
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

/**
 * The required certainty of a look-up. `before_append`: the caller appends next and relies only on the answer
 * to that. If look-ups cost a round trip, a store may then answer that it found nothing. Its append checks instead: it
 * answers `conflict` if the call exists, and `moved` if the effect is unsettled. `certain` is the default.
 */
export type LookUp = 'certain' | 'before_append';

/** Prefixes of one session's counters; other counters are shared and stay. */
export const sessionCounterPrefixes = (sessionId: string): readonly [session: string, turns: string] => {
  const quoted = JSON.stringify(sessionId);
  return [`session/${quoted}/`, `turn/[${quoted},`];
};
