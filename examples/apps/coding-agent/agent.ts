/** One job of the coding agent: a LangGraph agent with governed tools. */
import { HumanMessage } from '@langchain/core/messages';
import { createAgent, createMiddleware } from 'langchain';
import type { Coding } from './quittance.ts';

/** A chat model of LangChain, or its name, e.g. `anthropic:claude-sonnet-5`. */
type Model = NonNullable<Parameters<typeof createAgent>[0]['model']>;

export async function doJob(coding: Coding, job: string, sessionId: string, model: Model): Promise<string> {
  const agent = createAgent({
    model,
    tools: coding.tools,
    systemPrompt: 'You write code in one folder. Read before you write, and run the tests at the end.',
    middleware: [createMiddleware({ name: 'quittance', wrapToolCall: coding.wrapToolCall })],
  });
  const { messages } = await agent.invoke(
    { messages: [new HumanMessage(job)] },
    { configurable: { thread_id: sessionId }, recursionLimit: 60 },
  );
  return messages.at(-1)?.text ?? '';
}
