export { defineTool } from './tool/define-tool.ts';
export type {
  AnyTool,
  HandoffSpec,
  Reconciliation,
  Tool,
  ToolInput,
  ToolOutput,
  ToolSpec,
  UndoTool,
  UnseenAttempt,
} from './tool/define-tool.ts';
export { govern } from './tool/govern.ts';
export { jsonSchema } from './tool/schema.ts';
export type { Jsonified } from './tool/jsonified.ts';
export type { MakePreview, PreviewContext } from './tool/make-preview.ts';
export type { CancelledOperation, PreviewedOperation, PreviewRevision } from './tool/preview.ts';
export type { Attachment, AttachmentName, Principal, ToolContext } from './tool/tool-context.ts';
export { decideToolMode, classifyTool, toolModePatterns, toolModeTreatments } from './tool/mode.ts';
export type { ToolClass, ToolMode, ToolModeOrigin } from './tool/mode.ts';
export { coercionRules } from './tool/coerce.ts';
export { defaultSuccessCheck } from './tool/success-check.ts';
export { successChecks } from './tool/success-checks.ts';
export type { SuccessCheck, SuccessVerdict } from './tool/success-check.ts';

export { createRuntime } from './store/memory/create-runtime.ts';
export type { CallFilter, Runtime } from './runtime/create-runtime.ts';
export type { WorkflowControl, WorkflowMove, WorkflowRef } from './runtime/rules/workflow-control.ts';
export type { WorkflowState } from './policy/workflow/workflow-state.ts';
export type { Contracts } from './policy/judge/contracts.ts';
export type { RuntimeOptions } from './runtime/runtime-options.ts';
export type { ProtectedFiles } from './runtime/files/own-files.ts';
export type { OnTrouble, RuntimeTrouble } from './runtime/host/runtime-trouble.ts';
export type { TurnOptions } from './runtime/host/turn-options.ts';
export type { BoundTool, CallAllOptions, SubmittedCall, ToolRunners, Turn } from './runtime/turn/turn.ts';
export type { ToolCallInput } from './runtime/host/tool-call-input.ts';
export type { CallOptions, Progress } from './runtime/host/call-options.ts';
export type { PendingCall } from './runtime/turn/await-told.ts';
export type { HandoffClaim, HandoffTerms } from './runtime/handoff/claim-handoff.ts';
export type { HandoffNotes, HandoffReport } from './runtime/handoff/handoff-report.ts';
export type { HandoffQuery, HandoffView } from './runtime/handoff/list-handoffs.ts';
export type { BatchAnswer, BatchReport, ReportedCall } from './runtime/handoff/report-handoff.ts';
export type { UnresolvedQuery } from './runtime/recovery/list-unresolved.ts';
export type { ErrorGroup, ErrorQuery } from './ledger/summarise-errors.ts';
export type { UnresolvedCall } from './runtime/host/unresolved-call.ts';
export type { AskTool, FoundOut } from './runtime/recovery/reconcile.ts';
export type { UndoRequest } from './runtime/undo.ts';
export type { RecoveredCall } from './runtime/state/recovery.ts';
export type { ConfirmationView, PreviewView } from './runtime/host/confirmation-view.ts';
export type { PersonDecision } from './runtime/hold/keep-decision.ts';
export type { MayDecide } from './runtime/host/may-decide.ts';
export type { TokenOptions, TokenUse } from './runtime/people/decision-token.ts';
export type { TokenDecision } from './runtime/people/signed-token.ts';
export type { MayGrant } from './runtime/host/may-grant.ts';
export type { GrantQuery, GrantRef, GrantRequest } from './runtime/grants/grants.ts';
export type { GrantStatus, GrantView } from './runtime/host/grant-view.ts';
export type { Grant, GrantRevocation } from './call/grant.ts';
export type { ConfirmationQuery } from './ledger/confirmation-query.ts';
export { retry } from './runtime/host/retry.ts';
export type { Behavior, RetryOptions, RetryPolicy } from './runtime/host/retry.ts';
export type {
  BehaviorCall,
  BehaviorContext,
  BehaviorHandler,
  BehaviorSpec,
  EventName,
  EventNamed,
  RegisteredBehavior,
  RetryWish,
} from './runtime/host/behavior.ts';
export type { FieldMatch, Where } from './runtime/host/where.ts';
export type { TailedEvent, TailOptions } from './runtime/tail.ts';
export type { BudgetRule } from './runtime/host/budget.ts';
export type { ConfirmationAnswer, ConfirmationRequest, OnConfirm } from './runtime/host/confirm.ts';
export type { Repair, Repairer, RepairRequest, Treatment } from './runtime/state/engine.ts';
export { ToolDecision } from './runtime/host/tool-decision.ts';
export type { PreToolUse, ToolUse } from './runtime/host/tool-decision.ts';

export { sessionCallId } from './call/session-call-id.ts';
export { parseToolCall } from './call/tool-call.ts';
export type { ParsedToolCall, ToolCall } from './call/tool-call.ts';
export { isTerminalResult, parseToolResult, toolResult } from './call/tool-result.ts';
export type { ToolResult } from './call/tool-result.ts';
export {
  denialReasons,
  outcomeBlocksTool,
  outcomeIsError,
  outcomeIsRetryable,
  TOOL_MESSAGE_MAX_CHARS,
  unwrap,
} from './call/outcome.ts';
export type {
  DenialReason,
  OutputFile,
  ToolArtifactReference,
  ToolDenied,
  ToolExecutionResult,
  ToolFailure,
  ToolOutcome,
  ToolTimeout,
  UndoHandle,
} from './call/outcome.ts';
export { isToolOutcome } from './call/is-tool-outcome.ts';
export { outcomeToContentParts, outcomeToModelContent } from './call/model-content.ts';
export type { ContentPart } from './call/model-content.ts';
export { outcomeFromToolResult, outcomeToToolResult } from './call/derived-result.ts';
export { isToolError, ToolError } from './call/tool-error.ts';
export type { ToolErrorOptions } from './call/tool-error.ts';
export { isReasonCode, reasonOf, reasonTable } from './call/reason.ts';
export type { NextAction, Reason, ReasonCode, WhoseMove } from './call/reason.ts';
export { isKnownAuditOutcome, ToolAuditOutcome } from './call/audit.ts';
export type { ListenExecutionContext, ToolAuditRecord, UnknownAuditOutcome } from './call/audit.ts';
export type { PersistenceBoundary } from './call/persistence-boundary.ts';
export { auditOrder, auditTerminalKinds, checkAuditOrder } from './call/audit-order.ts';
export { auditRecordFromWire, auditRecordToWire } from './call/audit-wire.ts';
export { outcomeFromWire, outcomeToWire } from './call/outcome-wire.ts';
export type { Call, CallStatus, Confirmation } from './call/call.ts';
export type * from './call/event.ts';
export { isEmittedEvent, isReservedEventType } from './call/emitted-event.ts';
export type { EmittedEvent } from './call/emitted-event.ts';
export type { Command } from './call/command.ts';
export { decide } from './call/decide.ts';
export type { Decision, Subject } from './call/decide.ts';
export { evolve, foldCall } from './call/evolve.ts';
export { projectAudit } from './call/audit-projection.ts';

export { createMemoryLedger } from './store/memory/memory-ledger.ts';
export type { MemoryLedgerOptions } from './store/memory/memory-ledger.ts';
export type * from './ledger/artifacts.ts';
export type * from './ledger/claims.ts';
export type * from './ledger/cursors.ts';
export type * from './ledger/entries.ts';
export type * from './ledger/integrity.ts';
export type * from './ledger/journal.ts';
export type * from './ledger/ledger.ts';
export type * from './ledger/owners.ts';
export type * from './ledger/queries.ts';
export type * from './ledger/retention.ts';
export type * from './ledger/spill.ts';

export type { RedactionOptions } from './base/redaction.ts';
export { errorTable, isQuittanceError, QuittanceError } from './base/error.ts';
export type { ErrorCode } from './base/error.ts';
export type { Clock, Timer } from './base/clock.ts';
export type { Ids } from './base/ids.ts';
export type { JsonObject, JsonPrimitive, JsonValue } from './base/json.ts';
