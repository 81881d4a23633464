/** Types of the options of a runtime, and of what its groups take and return. */
export type { QuietHours, WeekDay } from './base/quiet-hours.ts';
export type { Contracts } from './policy/judge/contracts.ts';
export type { BudgetRule } from './runtime/host/budget.ts';
export type { ConfirmationAnswer, ConfirmationRequest, OnConfirm } from './runtime/host/confirm.ts';
export type { MayDecide } from './runtime/host/may-decide.ts';
export type { MayGrant } from './runtime/host/may-grant.ts';
export type { OnTrouble, RuntimeTrouble } from './runtime/host/runtime-trouble.ts';
export type { ProtectedFiles } from './runtime/files/own-files.ts';
export type { Repair, Repairer, RepairRequest, Treatment } from './runtime/state/engine.ts';
export type { RetryOptions, RetryPolicy } from './runtime/host/retry.ts';
export type { PreToolUse, ToolUse } from './runtime/host/tool-decision.ts';
export type { RedactionOptions } from './base/redaction.ts';
export type { Clock, Timer } from './base/clock.ts';
export type { Ids } from './base/ids.ts';

export type { RuntimeCalls } from './runtime/runtime-calls.ts';
export type { RuntimeConfirmations } from './runtime/runtime-confirmations.ts';
export type { RuntimeDelegations } from './runtime/runtime-delegations.ts';
export type { RuntimeEvents } from './runtime/runtime-events.ts';
export type { RuntimeGrants } from './runtime/runtime-grants.ts';
export type { RuntimeHandoffs } from './runtime/runtime-handoffs.ts';

export type { CallFilter } from './runtime/read-events.ts';
export type { ErrorGroup, ErrorQuery } from './ledger/summarize-errors.ts';
export type { UnresolvedCall } from './runtime/host/unresolved-call.ts';
export type { UnresolvedQuery } from './runtime/recovery/list-unresolved.ts';
export type { AskTool, FoundOut } from './runtime/recovery/reconcile.ts';
export type { RecoveredCall } from './runtime/state/recovery.ts';
export type { UndoRequest } from './runtime/undo.ts';

export type { ConfirmationQuery } from './ledger/confirmation-query.ts';
export type { ConfirmationView, PreviewView } from './runtime/host/confirmation-view.ts';
export type { ForSession, PersonDecision } from './runtime/hold/keep-decision.ts';
export type { DelegationRef, DelegationRequest, DelegationView } from './runtime/people/delegations.ts';
export type { LinkOptions, LinkUse } from './runtime/people/decision-token.ts';
export type { LinkDecision } from './runtime/people/signed-token.ts';

export type { GrantQuery, GrantRef, GrantRequest } from './runtime/grants/grants.ts';
export type { GrantStatus, GrantView } from './runtime/host/grant-view.ts';

export type { HandoffClaim, HandoffTerms } from './runtime/handoff/claim-handoff.ts';
export type { HandoffNotes, HandoffReport } from './runtime/handoff/handoff-report.ts';
export type { HandoffQuery, HandoffView } from './runtime/handoff/list-handoffs.ts';
export type { BatchAnswer, BatchReport } from './runtime/handoff/report-handoff.ts';
export type { ReportedCall } from './runtime/handoff/answer-settled.ts';

export type { WorkflowControl, WorkflowMove, WorkflowRef } from './runtime/rules/workflow-control.ts';
export type { WorkflowState } from './policy/workflow/workflow-state.ts';
