export { governTools } from './govern-tools.ts';
export type { GovernedTools, LangChainOptions, LangChainToolCallRequest } from './govern-tools.ts';
export type { LangChainDecision, LangChainQuestion } from './interrupt.ts';
export type { LangChainInterruptOn } from './interrupt-on.ts';
export type { LangChainConfig } from './call.ts';
export type { LangChainTool } from './tool.ts';
export type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
