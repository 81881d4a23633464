export { governTools } from './govern-tools.ts';
export type {
  GenAiAnswer,
  GenAiCallableTool,
  GenAiOptions,
  GenAiResponsePart,
  GenAiRun,
  GenAiRunOptions,
  GenAiTool,
  GovernedGenAiLoop,
} from './govern-tools.ts';
export type { GenAiCallable } from './callable.ts';
export type { LoopOptions, LoopTools } from '@quittance/adapter-kit/internal/run/govern-loop';
