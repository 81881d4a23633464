export { governTools } from './adapters/mastra/govern-tools.ts';
export type { GovernedTools, MastraGuard, MastraOptions } from './adapters/mastra/govern-tools.ts';
export type { MastraQuestion } from './adapters/mastra/announcements.ts';
export type {
  GovernedMastraTool,
  MastraAgentContext,
  MastraContext,
  MastraTool,
} from './adapters/mastra/tool.ts';
export type { AdapterOptions } from './adapters/adopt/adapter-options.ts';
