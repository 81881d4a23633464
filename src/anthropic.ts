export { governTools } from './adapters/anthropic/govern-tools.ts';
export type {
  AnthropicAnswer,
  AnthropicAnswerOptions,
  AnthropicRun,
  AnthropicTool,
  AnthropicToolResult,
  GovernedLoop,
} from './adapters/anthropic/govern-tools.ts';
export type { LoopOptions, LoopTools } from './adapters/run/govern-loop.ts';
