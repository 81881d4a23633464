export { governTools } from './adapters/claude-agent/govern-tools.ts';
export type { ClaudeAgentOptions, GovernedTools } from './adapters/claude-agent/govern-tools.ts';
export type {
  ClaudeAgentApproval,
  ClaudeAgentHeld,
  ClaudeAgentRun,
  ClaudeAgentServerConfig,
} from './adapters/claude-agent/run.ts';
export { openPrompt } from './adapters/claude-agent/prompt.ts';
export type { ClaudeAgentUserMessage, OpenPrompt } from './adapters/claude-agent/prompt.ts';
export type { ClaudeAgentHookOutput, ClaudeAgentHooks } from './adapters/claude-agent/hooks.ts';
export type {
  ClaudeAgentAnnotations,
  ClaudeAgentCall,
  ClaudeAgentExtra,
  ClaudeAgentHookInput,
  ClaudeAgentTool,
} from './adapters/claude-agent/tool.ts';
export type { AdapterOptions } from './adapters/adopt/adapter-options.ts';
