export { governTools } from './govern-tools.ts';
export type { AdkOptions, GovernedAdkTool, GovernedTools } from './govern-tools.ts';
export type { AdkPlugin } from './plugin.ts';
export type { AdkConfirmation, AdkInvocation, AdkTool, AdkToolContext, AdkToolset } from './tool.ts';
export type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
