/**
 * All events. Everything shown is computed from them. Their names never change. An appended event never changes, so events
 * are deeply frozen. Each is declared with related ones in `events`.
 */
import type { PersistenceFailed, ToolResolved, ToolUndone } from './events/resolution-event.ts';
import type {
  ToolLate,
  ToolReported,
  ToolResponded,
  ToolStarted,
  ToolTakenOver,
} from './events/attempt-event.ts';
import type { BehaviorFailed } from './events/behavior-event.ts';
import type {
  ConfirmationDecided,
  ConfirmationExpired,
  ConfirmationReminded,
  ConfirmationVoted,
  ConfirmationWithdrawn,
  ToolHeld,
  ToolPreviewed,
} from './events/confirmation-event.ts';
import type { DelegationEvent } from './events/delegation-event.ts';
import type { BudgetExhausted, ToolDecided, ToolRecalled, ToolRequested } from './events/gate-event.ts';
import type { GrantEvent } from './events/grant-event.ts';
import type { ContractsLoaded, LedgerEvent } from './events/ledger-event.ts';
import type { RefusalEvent } from './events/refusal-event.ts';
import type { RedeliveryRequested, RetryRequested } from './events/retry-event.ts';
import type { SessionEvent, TurnEvent } from './events/session-event.ts';
import type { WorkflowEvent } from './events/workflow-event.ts';

export type { Preview, PreviewField } from '../tool/preview.ts';
export type * from './events/resolution-event.ts';
export type * from './events/attempt-event.ts';
export type * from './events/behavior-event.ts';
export type * from './events/confirmation-event.ts';
export type * from './events/delegation-event.ts';
export type * from './events/gate-event.ts';
export type * from './events/grant-event.ts';
export type * from './events/ledger-event.ts';
export type * from './events/refusal-event.ts';
export type * from './events/retry-event.ts';
export type * from './events/session-event.ts';
export type * from './events/workflow-event.ts';
export type {
  DirectIdentity,
  Identity,
  LinkHolder,
  LinkIdentity,
  LinkMaker,
  Memberships,
  OsUserIdentity,
  ProviderIdentity,
  TokenIdentity,
} from './identity.ts';

export type CallEvent =
  | ToolRequested
  | ToolRecalled
  | ToolDecided
  | ToolPreviewed
  | ToolHeld
  | ToolTakenOver
  | ToolStarted
  | ToolResponded
  | ToolLate
  | ToolReported
  | ToolResolved
  | ToolUndone
  | PersistenceFailed
  | ConfirmationDecided
  | ConfirmationVoted
  | ConfirmationReminded
  | ConfirmationExpired
  | ConfirmationWithdrawn
  | RetryRequested
  | BudgetExhausted;

/** Events that behaviors cause. */
export type BehaviorEvent = RedeliveryRequested | BehaviorFailed;

/** Every event that this version appends. Readers keep types that they do not know. */
export type QuittanceEvent =
  | CallEvent
  | SessionEvent
  | TurnEvent
  | WorkflowEvent
  | GrantEvent
  | DelegationEvent
  | BehaviorEvent
  | RefusalEvent
  | ContractsLoaded
  | LedgerEvent;
export type EventType = QuittanceEvent['type'];
