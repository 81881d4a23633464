/** Types of the options of a runtime, and of what its groups take and return. */
export type { QuietHours, WeekDay } from './base/quiet-hours.ts';
export type { Contracts } from './policy/judge/contracts.ts';
export type { BudgetRule } from './runtime/budget.ts';
export type {
  ConfirmationAnswer,
  ConfirmationRequest,
  OnConfirm,
  ConfirmationView,
  PreviewView,
} from './runtime/views.ts';
export type { MayDecide, MayGrant } from './runtime/approvers.ts';
export type { OnTrouble, RuntimeTrouble } from './runtime/telemetry.ts';
export type { ProtectedFiles } from './runtime/own-files.ts';
export type { Repair, Repairer, RepairRequest } from './runtime/engine.ts';
export type { Treatment } from './tool/mode.ts';
export type { RetryOptions, RetryPolicy, PreToolUse, ToolUse } from './runtime/call-options.ts';
export type { RedactionOptions } from './base/redaction.ts';
export type { Clock, Timer } from './base/deadlines.ts';
export type { Ids } from './base/ids.ts';

export type {
  RuntimeCalls,
  RuntimeConfirmations,
  RuntimeDelegations,
  RuntimeEvents,
  RuntimeGrants,
  RuntimeHandoffs,
} from './runtime/runtime-parts.ts';

export type { CallFilter } from './runtime/tail.ts';
export type { ErrorGroup, ErrorQuery } from './ledger/summarize-errors.ts';
export type { UnresolvedCall, GrantStatus, GrantView } from './runtime/views.ts';
export type { UnresolvedQuery, AskTool, FoundOut } from './runtime/reconcile.ts';
export type { RecoveredCall } from './runtime/runtime-state.ts';
export type { UndoRequest } from './runtime/undo.ts';

export type { ConfirmationQuery } from './ledger/call-query.ts';
export type { ForSession, PersonDecision } from './runtime/keep-decision.ts';
export type { DelegationRef, DelegationRequest, DelegationView } from './runtime/delegations.ts';
export type { LinkOptions, LinkUse, LinkView, StandsAtHost, LinkDecision } from './runtime/decision-token.ts';

export type { GrantQuery, GrantRef, GrantRequest } from './runtime/grants.ts';

export type { HandoffClaim, HandoffTerms, HandoffQuery, HandoffView } from './runtime/claim-handoff.ts';
export type {
  HandoffNotes,
  HandoffReport,
  BatchAnswer,
  BatchReport,
  ReportedCall,
} from './runtime/report-handoff.ts';

export type { WorkflowControl, WorkflowMove, WorkflowRef } from './runtime/contract-rules.ts';
export type { WorkflowState } from './policy/workflow/workflow-state.ts';
