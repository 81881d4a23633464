/** The programs of docs/adapters/google-adk.md, with the context that the page leaves out. Type-checked, never run. */
import type { BaseLlm, BaseSessionService, BaseTool } from '@google/adk';
import { LlmAgent, MCPToolset, Runner } from '@google/adk';
import type { OpenLedger } from 'quittance/store';
import type { LoadedContracts } from 'quittance/contracts';
import { governTools } from '@quittance/google-adk';

declare const refund: BaseTool;
declare const tools: readonly BaseTool[];
declare const shop: ConstructorParameters<typeof MCPToolset>[0];
declare const ledger: OpenLedger;
declare const contracts: LoadedContracts;
declare const name: string;
declare const model: BaseLlm;
declare const appName: string;
declare const sessionService: BaseSessionService;
declare const userId: string;
declare const sessionId: string;
declare const id: string;

const governed = await governTools([refund, new MCPToolset(shop)], { ledger, contracts });
const agent = new LlmAgent({ name, model, tools: governed.tools });
const runner = new Runner({ appName, agent, sessionService, plugins: [governed.plugin] });

export async function approve(): Promise<unknown> {
  const governed = await governTools(tools, {
    approver: ({ invocationContext }) => invocationContext.session.userId,
  });
  // The run ends with a call of adk_request_confirmation. Answer it, in any process with this session and this ledger:
  const parts = [
    { functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed: true } } },
  ];
  runner.runAsync({ userId, sessionId, newMessage: { role: 'user', parts } });
  return governed;
}
