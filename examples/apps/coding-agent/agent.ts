/** One job of the coding agent: a LangGraph agent with governed tools. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { HumanMessage } from '@langchain/core/messages';
import { createAgent, createMiddleware } from 'langchain';
import type { Coding } from './quittance.ts';

export async function doJob(
  coding: Coding,
  job: string,
  sessionId: string,
  model: BaseChatModel,
): Promise<string> {
  const agent = createAgent({
    model,
    tools: coding.tools,
    middleware: [createMiddleware({ name: 'quittance', wrapToolCall: coding.wrapToolCall })],
  });
  const { messages } = await agent.invoke(
    { messages: [new HumanMessage(job)] },
    { configurable: { thread_id: sessionId }, recursionLimit: 60 },
  );
  return messages.at(-1)?.text ?? '';
}
