export { governTools } from './govern-tools.ts';
export type { GovernedTools, MastraGuard, MastraOptions } from './govern-tools.ts';
export type { MastraQuestion } from './announcements.ts';
export type { GovernedMastraTool, MastraAgentContext, MastraContext, MastraTool } from './tool.ts';
export type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
