/** What a model is shown where the program did not set a run up: no option, no function, nothing to type. */
import { AIMessage } from '@langchain/core/messages';
import { tool as langChainTool } from '@langchain/core/tools';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { createTool } from '@mastra/core/tools';
import { governTools as governLangChain } from 'quittance/langchain';
import { governTools as governMastra } from 'quittance/mastra';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { apiName } from '../model-api-name.ts';

const anything = { type: 'object' as const, properties: {} };

/** Facts for the model in the message; what to change is for the developer, in the cause. */
function expectTwoTexts(error: unknown, developer: RegExp): void {
  expect(error).toBeInstanceOf(Error);
  const { message, cause } = error as Error;
  expect(message).not.toMatch(apiName);
  expect(message).toContain('Nothing ran.');
  expect((cause as Error).message).toMatch(developer);
}

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'nothing',
    (error: unknown) => error,
  );

test('LangGraph puts it into the message for the model', async () => {
  const pay = langChainTool(() => 'paid', { name: 'pay', description: '', schema: anything });
  const { tools } = await governLangChain([pay]);
  const node = new ToolNode(tools as never);
  const asks = new AIMessage({
    content: '',
    tool_calls: [{ id: 'c1', name: 'pay', args: {}, type: 'tool_call' }],
  });
  const { messages } = (await node.invoke({ messages: [asks] })) as {
    messages: readonly { readonly content: unknown }[];
  };
  expect(String(messages[0]?.content)).toContain('belongs to no session');
  expect(String(messages[0]?.content)).not.toMatch(apiName);
});

test('Mastra', async () => {
  const pay = createTool({
    id: 'pay',
    description: '',
    inputSchema: z.object({}),
    execute: async () => 'paid',
  });
  const { tools } = await governMastra({ pay });
  const execute = tools.pay.execute as unknown as (input: unknown, context: unknown) => Promise<unknown>;
  expectTwoTexts(await thrownBy(execute({}, {})), /runtime/);
  expectTwoTexts(await thrownBy(execute({}, { agent: { toolCallId: 'c1' } })), /governTools/);
});
