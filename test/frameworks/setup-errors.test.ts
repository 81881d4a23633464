/** The content for the model if the program did not set a run up: no option, no function, nothing to type. */
import { AIMessage } from '@langchain/core/messages';
import { tool as langChainTool } from '@langchain/core/tools';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { createTool } from '@mastra/core/tools';
import { Agent, Runner, tool as openAiTool } from '@openai/agents';
import { governTools as governLangChain } from '@quittance/langchain';
import { governTools as governMastra } from '@quittance/mastra';
import { governTools as governOpenAi } from '@quittance/openai-agents';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { apiName } from '../model-api-name.ts';
import { scriptedModel } from './harnesses/openai-agents.ts';
import type { Told } from './suite/harness.ts';

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
  expect(String(messages[0]?.content)).toContain('has no session');
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

describe('OpenAI Agents, in an agent that is a tool', () => {
  /** The content for the model of the outer agent, and the outcome on record. */
  const ask = async (inner: 'has an ungoverned tool' | 'is closed') => {
    const parameters = z.object({});
    const pay = openAiTool({ name: 'pay', description: '', parameters, execute: () => 'paid' });
    const free = openAiTool({ name: 'free', description: '', parameters, execute: () => 'free' });
    const governed = await governOpenAi([pay]);
    if (inner === 'is closed') await governed.runtime.close();
    const clerk = new Agent({
      name: 'clerk',
      model: scriptedModel([{ calls: [{ id: 'c2', name: 'pay', arguments: {} }] }, { text: 'Done.' }], []),
      tools: inner === 'is closed' ? governed.tools : [...governed.tools, free],
    });
    const outer = await governOpenAi([clerk.asTool({ toolName: 'ask_clerk', toolDescription: '' })]);
    const told: Told[] = [];
    const script = [
      { calls: [{ id: 'c1', name: 'ask_clerk', arguments: { input: 'Go.' } }] },
      { text: 'Done.' },
    ];
    const shop = new Agent({ name: 'shop', model: scriptedModel(script, told), tools: outer.tools });
    await new Runner().run(shop, 'Go.', { context: { sessionId: 'thread-1' } });
    const [made] = await outer.runtime.calls.list({ sessionId: 'thread-1', callId: 'c1' });
    return { told: told[0]?.texts.join() ?? '', kept: JSON.stringify(made?.settled?.outcome) };
  };

  test.each([
    ['has an ungoverned tool', 'name them in its option ungoverned'],
    ['is closed', 'This runtime is closed'],
  ] as const)('if the inner one %s', async (inner, developer) => {
    const { told, kept } = await ask(inner);
    expect(told).toContain('not configured correctly');
    expect(told).not.toMatch(apiName);
    expect(told).not.toContain(developer);
    expect(kept).toContain(developer);
  });
});
