export { governTools } from './adapters/openai.ts';
export type {
  GovernedOpenAiLoop,
  OpenAiCallOutput,
  OpenAiCompletion,
  OpenAiCompletionTool,
  OpenAiResponse,
  OpenAiResponseTool,
  OpenAiRun,
  OpenAiToolMessage,
} from './adapters/openai.ts';
export type { LoopOptions, LoopTools } from './adapters/plain-loop.ts';
