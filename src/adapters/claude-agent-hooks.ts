/**
 * The hook that the Claude Agent SDK asks before any tool runs. It never lets anything through by itself: for tools of
 * ours the runtime decides when they are called, and the hook only stops the run where a person has to be asked. Other
 * tools run where nobody here can hold them, so they are denied unless the host named them.
 */
import type { PendingCall } from '../runtime/await-told.ts';
import { quote } from '../tool/nearest.ts';
import type { ClaudeAgentHookInput } from './claude-agent-tool.ts';

/** What a hook answers. Nothing means that the rules of the SDK decide. */
export type ClaudeAgentHookOutput = {
  hookSpecificOutput?: {
    hookEventName: 'PreToolUse';
    permissionDecision: 'deny' | 'defer';
    permissionDecisionReason: string;
  };
};

/** For `hooks` of a query. */
export type ClaudeAgentHooks = {
  PreToolUse: {
    hooks: ((input: ClaudeAgentHookInput, toolUseId: string | undefined) => Promise<ClaudeAgentHookOutput>)[];
  }[];
};

export type HookFacts = {
  readonly server: string;
  readonly ungoverned: readonly string[];
  /** Takes down what was told about a call of ours, and asks whether it waits for a person. */
  readonly ask: (
    toolUseId: string,
    name: string,
    input: ClaudeAgentHookInput,
  ) => Promise<PendingCall | undefined>;
  /**
   * Whether this call may stop the run. Of several calls in one message the SDK keeps only the last that was deferred,
   * so one may, and the others wait where they are.
   */
  readonly mayDefer: (toolUseId: string) => boolean;
};

export const createHooks = ({ server, ungoverned, ask, mayDefer }: HookFacts): ClaudeAgentHooks => ({
  PreToolUse: [
    {
      hooks: [
        async (input, toolUseId) => {
          const { tool_name: toolName = '' } = input;
          const prefix = `mcp__${server}__`;
          if (!toolName.startsWith(prefix))
            return isNamed(toolName, ungoverned) ? {} : decide('deny', refuse(toolName));
          if (toolUseId === undefined) return {};
          const question = await ask(toolUseId, toolName.slice(prefix.length), input);
          // Where nobody is asked, somebody else is making the call, and the tool waits for that.
          if (question?.confirmationId === undefined || !mayDefer(toolUseId)) return {};
          return decide('defer', `A person is asked: ${question.confirmationId}.`);
        },
      ],
    },
  ],
});

/** A tool by its name, or every tool of another server by the name of that, as in `allowedTools`. */
const isNamed = (toolName: string, ungoverned: readonly string[]): boolean =>
  ungoverned.some(
    (name) => name === toolName || (name.startsWith('mcp__') && toolName.startsWith(`${name}__`)),
  );

const refuse = (toolName: string): string =>
  `The tool ${quote(toolName)} is not run by Quittance, and the host has not named it among those that may run without it.`;

const decide = (
  permissionDecision: 'deny' | 'defer',
  permissionDecisionReason: string,
): ClaudeAgentHookOutput => ({
  hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason },
});
