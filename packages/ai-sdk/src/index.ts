export { isToolOutcome } from 'quittance/internal/call/is-tool-outcome';
export { isToolOutcomeError, ToolOutcomeError } from '@quittance/adapter-kit/internal/answer/outcome-error';
export { toErrorText } from './output.ts';
export { governTools } from './govern-tools.ts';
export type {
  AiSdkApprovalCall,
  AiSdkApprovalStatus,
  AiSdkOptions,
  AiSdkRun,
  GovernedTools,
} from './govern-tools.ts';
export type { AiSdkCallOptions, AiSdkTool, GovernedAiSdkTool } from './tool.ts';
export type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
