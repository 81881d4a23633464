export { governTools } from './adapters/google-adk/govern-tools.ts';
export type { AdkOptions, GovernedAdkTool, GovernedTools } from './adapters/google-adk/govern-tools.ts';
export type { AdkPlugin } from './adapters/google-adk/plugin.ts';
export type {
  AdkConfirmation,
  AdkInvocation,
  AdkTool,
  AdkToolContext,
  AdkToolset,
} from './adapters/google-adk/tool.ts';
export type { AdapterOptions } from './adapters/adopt/adapter-options.ts';
