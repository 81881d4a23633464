export { governTools } from './adapters/langchain/govern-tools.ts';
export type {
  GovernedTools,
  LangChainOptions,
  LangChainToolCallRequest,
} from './adapters/langchain/govern-tools.ts';
export type { LangChainDecision, LangChainQuestion } from './adapters/langchain/interrupt.ts';
export type { LangChainInterruptOn } from './adapters/langchain/interrupt-on.ts';
export type { LangChainConfig } from './adapters/langchain/call.ts';
export type { LangChainTool } from './adapters/langchain/tool.ts';
export type { AdapterOptions } from './adapters/adopt/adapter-options.ts';
