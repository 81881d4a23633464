/** The programs of docs/adapters/mastra.md, with the context that the page leaves out. Type-checked, never run. */
import { Agent } from '@mastra/core/agent';
import type { MastraModelConfig } from '@mastra/core/llm';
import { RequestContext } from '@mastra/core/request-context';
import type { createTool } from '@mastra/core/tools';
import type { OpenLedger } from 'quittance/store';
import type { LoadedContracts } from 'quittance/contracts';
import { governTools } from '@quittance/mastra';

declare const tools: { readonly refund: ReturnType<typeof createTool> };
declare const ledger: OpenLedger;
declare const contracts: LoadedContracts;
declare const model: MastraModelConfig;
declare const input: string;
declare const memory: { readonly thread: string; readonly resource: string };
declare const runId: string;
declare const toolCallId: string;
const requestContext = new RequestContext();

const governed = await governTools(tools, { ledger, contracts });
const agent = new Agent({
  id: 'shop',
  name: 'Shop',
  instructions: 'Refund what is due.',
  model,
  ...governed.agent,
});

export async function approve(): Promise<unknown> {
  const governed = await governTools(tools, {
    approver: ({ requestContext }) => requestContext?.get('user') as string,
  });
  const stopped = await agent.generate(input, { memory, requestContext });
  // stopped.finishReason is 'suspended'; stopped.suspendPayload has the call and the question. Store stopped.runId.

  // later, in any process with this storage and this ledger
  await agent.approveToolCallGenerate({ runId, toolCallId, requestContext });
  return { governed, stopped };
}
