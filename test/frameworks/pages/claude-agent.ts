/** The programs of docs/adapters/claude-agent.md, with the context that the page leaves out. Type-checked, never run. */
import type { SdkMcpToolDefinition } from '@anthropic-ai/claude-agent-sdk';
import { query } from '@anthropic-ai/claude-agent-sdk';
import type { OpenLedger } from 'quittance/store';
import type { LoadedContracts } from 'quittance/contracts';
import { governTools, openPrompt } from '@quittance/claude-agent';

declare const tools: SdkMcpToolDefinition[];
declare const ledger: OpenLedger;
declare const contracts: LoadedContracts;
declare const sessionId: string;
declare const user: { readonly name: string };
declare const prompt: string;
declare let toolUseId: string;

const governed = await governTools(tools, { server: 'shop', ledger, contracts });
for await (const message of query({
  prompt,
  options: {
    ...governed.run({ sessionId }).options,
    allowedTools: ['mcp__shop'],
  },
}))
  console.log(message.type);

export async function approve(): Promise<void> {
  const first = governed.run({ sessionId, approver: user.name });
  for await (const message of query({ prompt: 'Refund A7.', options: { ...first.options, sessionId } }))
    if (message.type === 'result' && message.subtype === 'success' && message.deferred_tool_use)
      toolUseId = message.deferred_tool_use.id; // its name and input are there too

  // later, in any process with the same CLAUDE_CONFIG_DIR and cwd
  const run = governed.run({ sessionId, approver: user.name });
  await run.takeApprovals([{ toolUseId, approved: true }]);
  const prompt = openPrompt('Go on.');
  for await (const message of query({ prompt, options: { ...run.options, resume: sessionId } }))
    prompt.hear(message);
}
