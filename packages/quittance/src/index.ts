/** What a host needs to define tools, make calls, read their outcomes and catch our errors. */
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
export {
  decideToolMode,
  defaultTreatments,
  classifyTool,
  riskOfTool,
  toolModePatterns,
  toolModeTreatments,
} from './tool/mode.ts';
export { toolNameWords } from './tool/name-words.ts';
export type { ToolClass, ToolMode, ToolModeOrigin } from './tool/mode.ts';
export { coercionRules } from './tool/coerce.ts';
export { defaultSuccessCheck, defaultSuccessVerdict } from './tool/success-check.ts';
export { successChecks } from './tool/success-check.ts';
export type { SuccessCheck, SuccessVerdict } from './tool/success-check.ts';

export { createRuntime } from './store/create-runtime.ts';
export type { Runtime, RuntimeOptions } from './runtime/create-runtime.ts';
export type { TurnOptions, ToolCallInput, CallOptions, Progress } from './runtime/call-options.ts';
export type { BoundTool, CallAllOptions, SubmittedCall, ToolRunners, Turn } from './runtime/turn.ts';
export type { PendingCall } from './runtime/turn.ts';
export { retry, ToolDecision } from './runtime/call-options.ts';

export { sessionCallId } from './call/session-call-id.ts';
export { isTerminalResult, toolResult } from './call/outcome.ts';
export type { ToolResult } from './call/outcome.ts';
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
export { isToolError, ToolError } from './call/tool-error.ts';
export type { ToolErrorOptions } from './call/tool-error.ts';
export { isReasonCode, reasonOf, reasonTable } from './call/reason.ts';
export type { NextAction, Reason, ReasonCode, WhoseMove } from './call/reason.ts';

export { errorTable, isQuittanceError, QuittanceError } from './base/error.ts';
export type { AnyQuittanceError, ErrorCode } from './base/error.ts';
export type { ErrorFacts } from './base/error-facts.ts';
export type { JsonObject, JsonPrimitive, JsonValue } from './base/json.ts';
