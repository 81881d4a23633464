/** What goes wrong beside all calls, of which no outcome could tell. */

/**
 * A behaviour that gets no further: the entry after `position` cannot be read, or the ledger could not be used five
 * times in a row. It skips nothing, and goes on by itself once it can.
 */
export type RuntimeTrouble = {
  readonly type: 'behavior.stuck';
  readonly behavior: string;
  /** The last entry that was given to it. */
  readonly position: number;
  /** What keeps it, and what to do. */
  readonly message: string;
  readonly error: unknown;
};

export type OnTrouble = (trouble: RuntimeTrouble) => void;

/** For hosts that do not say whom to tell. Silence would be worse than a line nobody asked for. */
export const warnOfTrouble: OnTrouble = ({ message }) => console.warn(`quittance: ${message}`);
