export { governTools } from './govern-tools.ts';
export type { GovernedOpenAiAgentsTools, GovernedTools, OpenAiAgentsOptions } from './govern-tools.ts';
export type { OpenAiAgentsMcpServer } from './mcp.ts';
export type { OpenAiAgentsInterruption, OpenAiAgentsState } from './state.ts';
export type {
  OpenAiAgentsCall,
  OpenAiAgentsCallDetails,
  OpenAiAgentsRunContext,
  OpenAiAgentsTool,
} from './tool.ts';
export type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
