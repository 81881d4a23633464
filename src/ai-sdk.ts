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
