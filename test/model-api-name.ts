/**
 * Matches a function, an option, a field or a class of the library. A model cannot use them, and must not
 * learn a way around an approval.
 */
export const apiName: RegExp =
  /\b(?:runtime|turn|context|engine)\.(?!deadline|ended)[a-z]\w*|\bledger\.(?!unavailable|altered)[a-z]\w*|\b(?:create|define|open|govern|contractsFrom)[A-Z]\w*|\b(?:mayDecide|mayGrant|separateDuties|onConfirm|onPreToolUse|treatments|undoWithinMs|holdTimeoutMs|defaultTimeoutMs|inlineLimit|successCheck|costMicros|idempotencyKey|reconcile|rerun|mayRerun|toolResult|ToolError|ToolDecision|ToolResult|fromEntries|maxArtifactBytes|resourceKeys|timeoutMs|protectedFiles|interruptOn|requireApproval|ungoverned|idempotent: true|QuittanceError)\b|`\w+`|=>/;
