export { governTools } from './adapters/google-genai/govern-tools.ts';
export type {
  GenAiAnswer,
  GenAiCallableTool,
  GenAiOptions,
  GenAiResponsePart,
  GenAiRun,
  GenAiRunOptions,
  GenAiTool,
  GovernedGenAiLoop,
} from './adapters/google-genai/govern-tools.ts';
export type { GenAiCallable } from './adapters/google-genai/callable.ts';
export type { LoopOptions, LoopTools } from './adapters/run/govern-loop.ts';
