/** The formats that leave the process: tool calls, tool results, outcomes and audit records as JSON. */
export { parseToolCall } from './call/tool-call.ts';
export type { ParsedToolCall, ToolCall } from './call/tool-call.ts';
export { parseToolResult } from './call/outcome.ts';
export { outcomeFromToolResult, outcomeToToolResult } from './call/outcome.ts';
export { outcomeFromWire, outcomeToWire } from './call/outcome-wire.ts';
export { auditRecordFromWire, auditRecordToWire } from './call/audit-wire.ts';
