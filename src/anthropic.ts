export { governTools } from './adapters/anthropic.ts';
export type {
  AnthropicAnswer,
  AnthropicAnswerOptions,
  AnthropicRun,
  AnthropicTool,
  AnthropicToolResult,
  GovernedLoop,
} from './adapters/anthropic.ts';
export type { LoopOptions, LoopTools } from './adapters/plain-loop.ts';
