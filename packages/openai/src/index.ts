export { governTools } from './govern-tools.ts';
export type {
  GovernedOpenAiLoop,
  OpenAiAnswerOptions,
  OpenAiCallOutput,
  OpenAiCompletion,
  OpenAiCompletionTool,
  OpenAiResponse,
  OpenAiResponseTool,
  OpenAiRun,
  OpenAiToolMessage,
} from './govern-tools.ts';
export type { LoopOptions, LoopTools } from '@quittance/adapter-kit/internal/run/govern-loop';
