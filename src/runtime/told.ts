import type { ToolOutcome } from '../call/outcome.ts';

/** A call that waits for a person, or that somebody else is making. `rest` is its way to the outcome. */
export type HeldCall = {
  readonly type: 'held';
  /** What the person is asked; undefined where nobody is. */
  readonly confirmationId: string | undefined;
  readonly rest: Promise<ToolOutcome>;
};

/** What a caller hears of a call: how it ended, or that it has not. */
export type Told = ToolOutcome | HeldCall;
