export { isToolOutcome } from './call/is-tool-outcome.ts';
export { isToolOutcomeError, ToolOutcomeError } from './adapters/answer/outcome-error.ts';
export { toErrorText } from './adapters/ai-sdk/output.ts';
export { governTools } from './adapters/ai-sdk/govern-tools.ts';
export type {
  AiSdkApprovalCall,
  AiSdkApprovalStatus,
  AiSdkOptions,
  AiSdkRun,
  GovernedTools,
} from './adapters/ai-sdk/govern-tools.ts';
export type { AiSdkCallOptions, AiSdkTool, GovernedAiSdkTool } from './adapters/ai-sdk/tool.ts';
export type { AdapterOptions } from './adapters/adopt/adapter-options.ts';
