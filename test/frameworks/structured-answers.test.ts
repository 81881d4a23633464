/**
 * Structured final answers with governed tools: the tool that a framework adds for one is not taken for an
 * ungoverned tool.
 */
import { FunctionTool, InMemorySessionService, LlmAgent, LogLevel, Runner, setLogLevel } from '@google/adk';
import { HumanMessage } from '@langchain/core/messages';
import { tool as langChainTool } from '@langchain/core/tools';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent, Runner as OpenAiRunner, tool as openAiTool } from '@openai/agents';
import * as ai from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import * as ai6 from 'ai6';
import { MockLanguageModelV3 } from 'ai6/test';
import { createAgent, createMiddleware, toolStrategy } from 'langchain';
import type { Runtime } from 'quittance';
import { governTools as governAdk } from '@quittance/google-adk';
import { governTools as governAiSdk } from '@quittance/ai-sdk';
import { governTools as governLangChain } from '@quittance/langchain';
import { governTools as governMastra } from '@quittance/mastra';
import { governTools as governOpenAi } from '@quittance/openai-agents';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { scriptedModel as aiSdkModel } from './harnesses/ai-sdk.ts';
import { ScriptedModel as AdkModel } from './harnesses/google-adk.ts';
import { ScriptedModel as LangChainModel } from './harnesses/langchain-harness.ts';
import { scriptedModel as mastraModel } from './harnesses/mastra-model.ts';
import { scriptedModel as openAiModel } from './harnesses/openai-agents.ts';
import type { Script } from './suite/harness.ts';

setLogLevel(LogLevel.ERROR);

const sessionId = 'thread-1';
const parameters = z.object({ cents: z.number() });
const answer = z.object({ paid: z.number() });
const pays = { calls: [{ id: 'c1', name: 'pay', arguments: { cents: 5 } }] };
const script: Script = [pays, { text: '{"paid":5}' }];
const newPay = () => vi.fn<(input: { cents: number }) => string>(() => 'paid');

async function expectPaidOnce(runtime: Runtime, pay: ReturnType<typeof newPay>, session = sessionId) {
  expect(pay.mock.calls.map(([input]) => input)).toEqual([{ cents: 5 }]);
  const made = await runtime.calls.list({ sessionId: session });
  expect(made.map(({ callId, settled }) => [callId, settled?.outcome.type])).toEqual([
    ['c1', 'ToolExecutionResult'],
  ]);
}

test.each([
  ['AI SDK 7', ai, MockLanguageModelV4],
  // The two versions differ in names only, as far as this goes.
  ['AI SDK 6', ai6 as unknown as typeof ai, MockLanguageModelV3],
] as const)('%s gives a structured final answer with governed tools: Output.object', async (_, sdk, Mock) => {
  const pay = newPay();
  const governed = await governAiSdk({
    pay: sdk.tool({ inputSchema: parameters, execute: (input) => pay(input) }),
  });
  const { output } = await sdk.generateText({
    model: aiSdkModel(Mock as never, script, [], 1) as never,
    prompt: 'Go.',
    tools: governed.run({ sessionId }).tools,
    stopWhen: sdk.stepCountIs(5),
    output: sdk.Output.object({ schema: answer }),
  });
  expect(output).toEqual({ paid: 5 });
  await expectPaidOnce(governed.runtime, pay);
});

test('OpenAI Agents gives a structured final answer with governed tools: outputType', async () => {
  const pay = newPay();
  const governed = await governOpenAi([
    openAiTool({ name: 'pay', description: '', parameters, execute: (input) => pay(input) }),
  ]);
  const agent = new Agent({
    name: 'clerk',
    model: openAiModel(script, []),
    tools: governed.tools,
    outputType: answer,
  });
  const { finalOutput } = await new OpenAiRunner().run(agent, 'Go.', { context: { sessionId } });
  expect(finalOutput).toEqual({ paid: 5 });
  await expectPaidOnce(governed.runtime, pay);
});

test('LangChain gives a structured final answer with governed tools: responseFormat, with the middleware', async () => {
  const pay = newPay();
  const governed = await governLangChain([
    langChainTool((input: { cents: number }) => pay(input), {
      name: 'pay',
      description: '',
      schema: parameters,
    }),
  ]);
  const format = {
    title: 'answer',
    type: 'object',
    properties: { paid: { type: 'number' } },
    required: ['paid'],
  };
  const answers = { calls: [{ id: 'a1', name: 'answer', arguments: { paid: 5 } }] };
  const agent = createAgent({
    model: new LangChainModel([pays, answers]),
    tools: governed.tools,
    responseFormat: toolStrategy(format as never),
    middleware: [createMiddleware({ name: 'quittance', wrapToolCall: governed.wrapToolCall })],
  });
  const state = (await agent.invoke(
    { messages: [new HumanMessage('Go.')] },
    { configurable: { thread_id: sessionId } },
  )) as { readonly structuredResponse?: unknown };
  expect(state.structuredResponse).toEqual({ paid: 5 });
  await expectPaidOnce(governed.runtime, pay);
});

test('Mastra gives a structured final answer with governed tools: structuredOutput', async () => {
  const pay = newPay();
  const governed = await governMastra({
    pay: createTool({
      id: 'pay',
      description: '',
      inputSchema: parameters,
      execute: async (input) => pay(input),
    }),
  });
  const agent = new MastraAgent({
    id: 'clerk',
    name: 'Clerk',
    instructions: 'Do it.',
    model: mastraModel(script, []) as never,
    ...governed.agent,
  });
  const { object } = await agent.generate('Go.', {
    memory: { thread: sessionId, resource: 'ada' },
    structuredOutput: { schema: answer },
  });
  expect(object).toEqual({ paid: 5 });
  await expectPaidOnce(governed.runtime, pay);
});

test('Google ADK gives a structured final answer with governed tools: outputSchema, with the plugin', async () => {
  const pay = newPay();
  const governed = await governAdk([
    new FunctionTool({ name: 'pay', description: 'Pays.', parameters, execute: (input) => pay(input) }),
  ]);
  const answers = { calls: [{ id: 'a1', name: 'set_model_response', arguments: { paid: 5 } }] };
  const agent = new LlmAgent({
    name: 'clerk',
    model: new AdkModel([pays, answers, { text: '{"paid":5}' }]),
    tools: governed.tools,
    outputSchema: answer,
    outputKey: 'answer',
  });
  const sessionService = new InMemorySessionService();
  const user = { appName: 'shop', userId: 'ada', sessionId };
  await sessionService.createSession(user);
  const runner = new Runner({ appName: 'shop', agent, sessionService, plugins: [governed.plugin] });
  const newMessage = { role: 'user', parts: [{ text: 'Go.' }] };
  for await (const event of runner.runAsync({ userId: 'ada', sessionId, newMessage })) void event;
  expect((await sessionService.getSession(user))?.state['answer']).toEqual({ paid: 5 });
  await expectPaidOnce(governed.runtime, pay, `shop/ada/${sessionId}`);
});
