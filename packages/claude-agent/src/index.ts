export { governTools } from './govern-tools.ts';
export type { ClaudeAgentOptions, GovernedTools } from './govern-tools.ts';
export type { ClaudeAgentApproval, ClaudeAgentHeld, ClaudeAgentRun, ClaudeAgentServerConfig } from './run.ts';
export { openPrompt } from './prompt.ts';
export type { ClaudeAgentUserMessage, OpenPrompt } from './prompt.ts';
export type { ClaudeAgentHookOutput, ClaudeAgentHooks } from './hooks.ts';
export type {
  ClaudeAgentAnnotations,
  ClaudeAgentCall,
  ClaudeAgentExtra,
  ClaudeAgentHookInput,
  ClaudeAgentTool,
} from './tool.ts';
export type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
