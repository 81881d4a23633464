export { governTools } from './govern-tools.ts';
export type {
  AnthropicAnswer,
  AnthropicAnswerOptions,
  AnthropicRun,
  AnthropicTool,
  AnthropicToolResult,
  GovernedLoop,
} from './govern-tools.ts';
export type { LoopOptions, LoopTools } from '@quittance/adapter-kit/internal/run/govern-loop';
