import type { JsonObject } from '../../base/json.ts';
import type { DirectIdentity, Provenance } from '../../call/event.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { BudgetRule } from './budget.ts';

export type TurnOptions = {
  readonly sessionId: string;
  readonly turnId?: string;
  /** The session that has this one work for it, for the record. A child turn has that of its parent by default. */
  readonly parentSessionId?: string;
  /** When the turn is over, in milliseconds since 1970. */
  readonly deadlineMs?: number;
  /** When the turn is over, from now. The earlier of the two counts. */
  readonly timeoutMs?: number;
  /** Budgets of this turn beside those of the runtime. */
  readonly budgets?: readonly BudgetRule[];
  readonly principal?: Principal;
  readonly provenance?: Provenance;
  /** How the program that asks was identified, for the record and for `separateDuties`. */
  readonly askedBy?: DirectIdentity;
  readonly attrs?: JsonObject;
};
