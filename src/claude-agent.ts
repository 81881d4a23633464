export { governTools } from './adapters/claude-agent.ts';
export type {
  ClaudeAgentApproval,
  ClaudeAgentHeld,
  ClaudeAgentOptions,
  ClaudeAgentRun,
  ClaudeAgentServerConfig,
  GovernedTools,
} from './adapters/claude-agent.ts';
export { openPrompt } from './adapters/claude-agent-prompt.ts';
export type { ClaudeAgentUserMessage, OpenPrompt } from './adapters/claude-agent-prompt.ts';
export type { ClaudeAgentHookOutput, ClaudeAgentHooks } from './adapters/claude-agent-hooks.ts';
export type {
  ClaudeAgentAnnotations,
  ClaudeAgentCall,
  ClaudeAgentExtra,
  ClaudeAgentHookInput,
  ClaudeAgentTool,
} from './adapters/claude-agent-tool.ts';
export type { AdapterOptions } from './adapters/adapter-options.ts';
