export { governTools } from './adapters/google-adk.ts';
export type { AdkOptions, GovernedAdkTool, GovernedTools } from './adapters/google-adk.ts';
export type { AdkPlugin } from './adapters/google-adk-plugin.ts';
export type {
  AdkConfirmation,
  AdkInvocation,
  AdkTool,
  AdkToolContext,
  AdkToolset,
} from './adapters/google-adk-tool.ts';
export type { AdapterOptions } from './adapters/adapter-options.ts';
