export { governTools } from './adapters/openai/govern-tools.ts';
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
} from './adapters/openai/govern-tools.ts';
export type { LoopOptions, LoopTools } from './adapters/run/govern-loop.ts';
