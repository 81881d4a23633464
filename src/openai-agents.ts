export { governTools } from './adapters/openai-agents/govern-tools.ts';
export type {
  GovernedOpenAiAgentsTools,
  GovernedTools,
  OpenAiAgentsOptions,
} from './adapters/openai-agents/govern-tools.ts';
export type { OpenAiAgentsMcpServer } from './adapters/openai-agents/mcp.ts';
export type { OpenAiAgentsInterruption, OpenAiAgentsState } from './adapters/openai-agents/state.ts';
export type {
  OpenAiAgentsCall,
  OpenAiAgentsCallDetails,
  OpenAiAgentsRunContext,
  OpenAiAgentsTool,
} from './adapters/openai-agents/tool.ts';
export type { AdapterOptions } from './adapters/adopt/adapter-options.ts';
