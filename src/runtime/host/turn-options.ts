import type { JsonObject } from '../../base/json.ts';
import type { DirectIdentity, Provenance } from '../../call/event.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { BudgetRule } from './budget.ts';

export type TurnOptions = {
  readonly sessionId: string;
  readonly turnId?: string;
  /**
   * The session that this one works for, for the record. Default for a child turn: the session of its parent.
   */
  readonly parentSessionId?: string;
  /** When the turn ends, in milliseconds since 1970. */
  readonly deadlineMs?: number;
  /** When the turn ends, from now. The earlier of the two counts. */
  readonly timeoutMs?: number;
  /** Budgets of this turn, in addition to the runtime's. */
  readonly budgets?: readonly BudgetRule[];
  readonly principal?: Principal;
  readonly provenance?: Provenance;
  /** How the calling program was identified, for the record and for `separateDuties`. */
  readonly askedBy?: DirectIdentity;
  readonly attrs?: JsonObject;
  /** The trace that the calls belong to, as a `traceparent` of the W3C. A malformed one is ignored. */
  readonly traceparent?: string;
};
