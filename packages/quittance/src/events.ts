/** The events of a ledger: their types, what follows from them, the audit that is read from them, and behaviors. */
export type * from './call/event.ts';
export { isEmittedEvent, isReservedEventType } from './call/emitted-event.ts';
export type { EmittedEvent } from './call/emitted-event.ts';
export { ledgerSessionId } from './ledger/ledger.ts';
export type { Command, DecideResult, Subject } from './call/decide.ts';
export { decide } from './call/decide.ts';
export { evolve, foldCall } from './call/evolve.ts';
export type { Call, CallStatus, Confirmation } from './call/call.ts';
export type { Grant, GrantApproval, GrantRevocation, GrantVote } from './call/grant.ts';
export type { ApprovalPolicy, Approvers, Escalation, Exclusion, Seat } from './call/approval-policy.ts';
export type { MissingSeat } from './call/quorum.ts';
export type { Vote } from './call/vote.ts';
export type { SessionBounds } from './call/session-bounds.ts';
export type { Delegation } from './call/delegation.ts';

export { isKnownAuditOutcome, ToolAuditOutcome } from './call/audit.ts';
export type { ListenExecutionContext, ToolAuditRecord, UnknownAuditOutcome } from './call/audit.ts';
export type { PersistenceBoundary } from './call/persistence-boundary.ts';
export { auditOrder, auditTerminalKinds, checkAuditOrder } from './call/audit-order.ts';
export { projectAudit } from './call/audit-projection.ts';

export type { TailedEvent, TailOptions } from './runtime/tail.ts';
export type { Behavior } from './runtime/call-options.ts';
export type {
  BehaviorCall,
  BehaviorContext,
  BehaviorHandler,
  BehaviorSpec,
  EventName,
  EventNamed,
  RegisteredBehavior,
  RetryWish,
} from './runtime/behavior.ts';
export type { FieldMatch, Where } from './runtime/views.ts';
