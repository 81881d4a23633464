export { governTools } from './adapters/openai.ts';
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
} from './adapters/openai.ts';
export type { LoopOptions, LoopTools } from './adapters/plain-loop.ts';
