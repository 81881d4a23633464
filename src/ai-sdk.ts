export { isToolOutcome } from './call/is-tool-outcome.ts';
export { isToolOutcomeError, ToolOutcomeError } from './adapters/outcome-error.ts';
export { toErrorText } from './adapters/ai-sdk-output.ts';
export { governTools } from './adapters/ai-sdk.ts';
export type {
  AiSdkApprovalCall,
  AiSdkApprovalStatus,
  AiSdkOptions,
  AiSdkRun,
  GovernedTools,
} from './adapters/ai-sdk.ts';
export type { AiSdkCallOptions, AiSdkTool, GovernedAiSdkTool } from './adapters/ai-sdk-tool.ts';
export type { AdapterOptions } from './adapters/adapter-options.ts';
