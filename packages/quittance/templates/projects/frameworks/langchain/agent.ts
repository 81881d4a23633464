/** The agent: `createAgent` of LangChain, with governed tools. */
import { HumanMessage } from '@langchain/core/messages';
import { createAgent, createMiddleware } from 'langchain';
import { createModel } from './model.ts';
import type { Governed } from './quittance.ts';

export async function runAgent(governed: Governed, sessionId: string): Promise<string> {
  const agent = createAgent({
    model: createModel(),
    tools: governed.tools,
    // Refuses tools that the agent gets elsewhere, and records calls of unknown tools.
    middleware: [createMiddleware({ name: 'quittance', wrapToolCall: governed.wrapToolCall })],
  });
  const prompt = 'Refund order A-1 with 900 cents and order B-2 with 9000 cents.';
  // A held call waits here until a person decides.
  const { messages } = await agent.invoke(
    { messages: [new HumanMessage(prompt)] },
    { configurable: { thread_id: sessionId } },
  );
  return messages.at(-1)?.text ?? '';
}
