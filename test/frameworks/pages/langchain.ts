/** The programs of docs/adapters/langchain.md, with the context that the page leaves out. Type-checked, never run. */
import type { StructuredTool } from '@langchain/core/tools';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent, createMiddleware } from 'langchain';
import type { OpenLedger } from 'quittance/store';
import type { LoadedContracts } from 'quittance/contracts';
import { governTools } from '@quittance/langchain';

type Context = { readonly user: string };
declare const tools: StructuredTool[];
declare const ledger: OpenLedger;
declare const contracts: LoadedContracts;
declare const model: BaseChatModel;
declare const messages: string[];
declare const config: { readonly configurable: { readonly thread_id: string } };
declare const approver: string;
declare const id: string;
declare const confirmationId: string;
const checkpointer = new MemorySaver();

const governed = await governTools(tools, { ledger, contracts });
const agent = createAgent({
  model,
  tools: governed.tools,
});

createAgent({
  model,
  tools: governed.tools,
  middleware: [
    createMiddleware({ name: 'quittance', wrapToolCall: governed.wrapToolCall }), // after all others
  ],
});

export { agent };

export async function approve(): Promise<unknown> {
  const governed = await governTools(tools, { ledger, approver: ({ context }) => (context as Context).user });
  const agent = createAgent({ model, tools: governed.tools, checkpointer });

  const { __interrupt__: questions } = await agent.invoke({ messages }, config);
  // [{ id, value: { type: 'quittance.confirmation', confirmationId, callId, toolName, arguments, description } }]
  await agent.invoke(new Command({ resume: { [id]: { confirmationId, approved: true } } }), config);
  return questions;
}

await governTools(tools, { approver, interruptOn: { refund: { description: 'Pay this back?' } } });
