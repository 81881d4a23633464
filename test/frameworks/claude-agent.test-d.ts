/** The declared types of the adapter against the real ones. */
import type {
  HookCallbackMatcher,
  McpServerConfig,
  Options,
  PreToolUseHookInput,
  SdkMcpToolDefinition,
  SDKResultSuccess,
} from '@anthropic-ai/claude-agent-sdk';
import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { defineTool } from 'quittance';
import type { ClaudeAgentApproval, ClaudeAgentHookInput, ClaudeAgentTool } from '@quittance/claude-agent';
import { governTools, openPrompt } from '@quittance/claude-agent';
import { z } from 'zod';

const weather = tool('weather', 'Tells the weather.', { city: z.string() }, async ({ city }) => ({
  content: [{ type: 'text', text: city }],
}));
const annotated = tool('wipe', 'Wipes.', {}, async () => ({ content: [] }), {
  annotations: { destructiveHint: true },
  alwaysLoad: false,
});
const own = defineTool({ name: 'own', run: () => 'ours' });

weather satisfies ClaudeAgentTool;
({}) as SdkMcpToolDefinition satisfies ClaudeAgentTool;

const governed = await governTools([weather, annotated, own], {
  server: 'shop',
  ungoverned: ['Read'],
  principal: ({ hook }) => ({ serviceId: hook?.agent_id ?? 'main' }),
  approver: ({ toolUseId }) => (toolUseId === '' ? undefined : 'grace'),
});
const run = governed.run({ sessionId: 'thread-1', approver: 'grace' });
const { mcpServers, hooks } = run.options;

// The results match the types of their use.
mcpServers satisfies Record<string, McpServerConfig>;
hooks satisfies NonNullable<Options['hooks']>;
hooks.PreToolUse satisfies HookCallbackMatcher[];
query({ prompt: 'Go.', options: run.options });
const prompt = openPrompt('Go on.');
for await (const message of query({ prompt, options: { ...run.options, resume: 'thread-1' } }))
  prompt.hear(message);
query({
  prompt: 'Go.',
  options: {
    mcpServers: { ...mcpServers, other: createSdkMcpServer({ name: 'other' }) },
    hooks: { ...hooks, Stop: [] },
  },
});

// The values from the SDK match the declared types.
declare const input: PreToolUseHookInput;
input satisfies ClaudeAgentHookInput;
declare const result: SDKResultSuccess;
await run.takeApprovals(
  result.deferred_tool_use === undefined
    ? []
    : [{ toolUseId: result.deferred_tool_use.id, approved: true } satisfies ClaudeAgentApproval],
);

// @ts-expect-error the server needs a name
await governTools([weather], {});
// @ts-expect-error a server is not a tool
await governTools([createSdkMcpServer({ name: 'shop', tools: [weather] })], { server: 'shop' });
// @ts-expect-error tools come in a list
await governTools({ weather }, { server: 'shop' });
