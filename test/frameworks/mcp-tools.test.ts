/**
 * MCP tools in agent frameworks: pictures, errors, structured content and annotations of a server survive.
 *
 * OpenAI Agents runs with its own MCP client. The MCP clients of the AI SDK, LangChain and Mastra are not installed
 * here. The tests make tools of the same shape instead.
 */
import { Agent as OpenAiAgent, MCPServerStdio, Runner } from '@openai/agents';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import type { ToolMessage } from '@langchain/core/messages';
import { StructuredTool, tool as langChainTool } from '@langchain/core/tools';
import { dynamicTool, generateText, jsonSchema, stepCountIs } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import type { Runtime, ToolOutcome } from 'quittance';
import { governTools as governAiSdk } from 'quittance/ai-sdk';
import { governTools as governLangChain } from 'quittance/langchain';
import { governTools as governMastra } from 'quittance/mastra';
import { governMcp } from 'quittance/mcp';
import { governTools as governOpenAiAgents } from 'quittance/openai-agents';
import { createRequire } from 'node:module';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ToldParts } from './harnesses/mastra-model.ts';
import { scriptedModel as mastraModel } from './harnesses/mastra-model.ts';
import { scriptedModel as openAiModel } from './harnesses/openai-agents.ts';
import type { Told } from './suite/harness.ts';

/** Larger than the 12,000 characters that an output may have inline. */
const png = Buffer.alloc(20_000, 7).toString('base64');
const picture = {
  content: [
    { type: 'text', text: 'A map.' },
    { type: 'image', data: png, mimeType: 'image/png' },
  ],
};
const failure = { isError: true, content: [{ type: 'text', text: 'No such note.' }] };

const outcomeOf = async (runtime: Runtime, sessionId: string): Promise<ToolOutcome | undefined> =>
  (await runtime.calls.list({ sessionId })).at(-1)?.settled?.outcome;

describe('OpenAI Agents, with its own MCP client', () => {
  type Context = { readonly sessionId: string };

  async function callEverything(name: string, args: Record<string, unknown>, useStructuredContent = false) {
    const server = new MCPServerStdio({
      name: 'everything',
      command: process.execPath,
      args: [createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')],
      useStructuredContent,
    });
    await server.connect();
    onTestFinished(() => server.close());
    const governed = await governOpenAiAgents([], { mcpServers: [server] });
    const told: Told[] = [];
    const model = openAiModel([{ calls: [{ id: 'c1', name, arguments: args }] }, { text: 'Done.' }], told);
    const agent = new OpenAiAgent<Context>({ name: 'agent', model, tools: governed.tools });
    await new Runner().run(agent, 'Go.', { context: { sessionId: 's' } });
    return { told, outcome: await outcomeOf(governed.runtime, 's') };
  }

  test('a picture is an artifact, and the model gets it', async () => {
    const { outcome } = await callEverything('get-tiny-image', {});
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', files: [{ mimeType: 'image/png' }] });
    expect(JSON.stringify(outcome)).not.toContain('iVBOR');
  });

  test('structured content is the output if the server is set up for it', async () => {
    const { outcome } = await callEverything('get-structured-content', { location: 'Chicago' }, true);
    expect(outcome).toMatchObject({ output: { temperature: expect.any(Number) as number } });
  });

  test('an error of the server is reported as one: the effect is known', async () => {
    const { outcome } = await callEverything('get-resource-reference', {
      resourceType: 'Text',
      resourceId: -1,
    });
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.reported_error' });
  });
});

describe('AI SDK, with tools of the shape that its MCP client makes', () => {
  type Content = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>['content'];
  const usage = { inputTokens: {}, outputTokens: {} } as never;

  async function call(result: object, annotations: object = {}, options: object = {}) {
    const tools = {
      read_note: Object.assign(
        dynamicTool({
          description: 'Reads.',
          inputSchema: jsonSchema({ type: 'object', properties: {}, additionalProperties: false }),
          execute: async () => result,
          toModelOutput: ({ output }) => ({
            type: 'content',
            value: (output as typeof picture).content.map((part) =>
              part.type === 'image'
                ? ({ type: 'file-data', data: String(part.data), mediaType: String(part.mimeType) } as const)
                : ({ type: 'text', text: String(part.text) } as const),
            ),
          }),
        }),
        { metadata: { clientName: 'c', toolName: 'read_note', annotations } },
      ),
    };
    const governed = await governAiSdk(tools, options);
    const rounds: Content[] = [
      [{ type: 'tool-call', toolCallId: 'c1', toolName: 'read_note', input: '{}' }],
      [{ type: 'text', text: 'Done.' }],
    ];
    const model = new MockLanguageModelV4({
      doGenerate: rounds.map((content, index) => ({
        content,
        usage,
        warnings: [],
        finishReason: { unified: index === 0 ? ('tool-calls' as const) : ('stop' as const), raw: 'x' },
      })),
    });
    const run = governed.run({ sessionId: 's' });
    await generateText({ model, tools: run.tools, prompt: 'Go.', stopWhen: stepCountIs(3) });
    const message = model.doGenerateCalls.at(-1)?.prompt.at(-1);
    const part = message?.role === 'tool' ? message.content[0] : undefined;
    const [made] = await governed.runtime.calls.list({ sessionId: 's' });
    return { told: part?.type === 'tool-result' ? part.output : undefined, made };
  }

  test('a picture is an artifact, and the model gets it once, as the tool shows it', async () => {
    const { told, made } = await call(picture);
    expect(made?.settled?.outcome).toMatchObject({
      type: 'ToolExecutionResult',
      files: [{ mimeType: 'image/png', sizeBytes: 20_000 }],
    });
    expect(JSON.stringify(made)).not.toContain(png);
    expect(JSON.stringify(told).split(png)).toHaveLength(2);
    expect(JSON.stringify(told)).toContain('A map.');
  });

  test('an error of the server is a failure, and destructiveHint asks a person', async () => {
    const { made } = await call(failure);
    expect(made?.settled?.outcome).toMatchObject({ code: 'tool.reported_error', error: 'No such note.' });
    let asked = 0;
    const onConfirm = () => {
      asked += 1;
      return { decision: 'approve', by: 'Ada' };
    };
    await call(picture, { destructiveHint: true }, { onConfirm });
    expect(asked).toBe(1);
  });
});

describe('Mastra, with tools of the shape that its MCP client makes', () => {
  async function call(result: object) {
    const note = createTool({
      id: 'notes_read_note',
      description: 'Reads.',
      inputSchema: z.object({}),
      execute: async () => result,
    });
    const governed = await governMastra({ note });
    const told: ToldParts[] = [];
    const model = mastraModel(
      [{ calls: [{ id: 'c1', name: 'note', arguments: {} }] }, { text: 'Done.' }],
      told,
    );
    const agent = new MastraAgent({
      id: 'clerk',
      name: 'Clerk',
      instructions: 'Do it.',
      model: model as never,
      tools: governed.tools as never,
    });
    await agent.generate('Go.', { memory: { thread: 's', resource: 'ada' } });
    return { told: told.at(-1), outcome: await outcomeOf(governed.runtime, 's') };
  }

  test('a picture is an artifact, and the model gets it', async () => {
    const { told, outcome } = await call(picture);
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', files: [{ mimeType: 'image/png' }] });
    expect(told?.parts).toContainEqual(expect.objectContaining({ mediaType: 'image/png', data: png }));
  });

  test('an error of the server is a failure', async () => {
    expect((await call(failure)).outcome).toMatchObject({
      code: 'tool.reported_error',
      error: 'No such note.',
    });
  });
});

describe('LangChain, with tools of the shape that its MCP client makes', () => {
  class ToolException extends Error {
    override readonly name = 'ToolException';
  }

  async function call(run: () => unknown) {
    const given = langChainTool(run as () => string, {
      name: 'send_note',
      description: 'Sends.',
      schema: { type: 'object' as const, properties: {} },
      responseFormat: 'content_and_artifact',
    });
    const { tools, runtime } = await governLangChain([given]);
    const [first] = tools as unknown as (typeof given)[];
    const message = (await first?.invoke(
      { id: 'c1', name: 'send_note', args: {}, type: 'tool_call' },
      { configurable: { thread_id: 's' } },
    )) as unknown as ToolMessage;
    return { message, outcome: await outcomeOf(runtime, 's') };
  }

  test('a picture is an artifact, and the structured content stays the artifact of the message', async () => {
    const structured = [{ type: 'mcp_structured_content', data: { n: 1 } }];
    const { message, outcome } = await call(() => [picture.content, structured]);
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', files: [{ mimeType: 'image/png' }] });
    expect(JSON.stringify(message.content)).toContain(png);
    expect(message.artifact).toEqual(structured);
  });

  test('an error of the server is reported as one: the effect is known', async () => {
    const { outcome } = await call(() => {
      throw new ToolException("MCP tool 'send_note' on server 'notes' returned an error: No such note.");
    });
    expect(outcome).toMatchObject({ code: 'tool.reported_error', error: 'No such note.', retryable: true });
    expect(outcome).not.toHaveProperty('inDoubt');
  });

  test('a connection that broke leaves the effect of a write unknown', async () => {
    const { outcome } = await call(() => {
      throw new ToolException('Error calling tool send_note: McpError: MCP error -32000: Connection closed');
    });
    expect(outcome).toMatchObject({ inDoubt: true, retryable: false });
  });
});

describe('tools of governMcp', () => {
  async function governed() {
    const server = new McpServer({ name: 'notes', version: '1.0.0' });
    server.registerTool('read_note', { description: 'Reads.' }, () => picture as never);
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: 'test', version: '1.0.0' });
    await Promise.all([server.connect(theirs), client.connect(ours)]);
    onTestFinished(() => client.close());
    return governMcp(client);
  }

  test('work in OpenAI Agents', async () => {
    const { tools, runtime } = await governOpenAiAgents(await governed());
    const told: Told[] = [];
    const model = openAiModel(
      [{ calls: [{ id: 'c1', name: 'read_note', arguments: {} }] }, { text: 'Done.' }],
      told,
    );
    const agent = new OpenAiAgent<{ sessionId: string }>({ name: 'agent', model, tools });
    await new Runner().run(agent, 'Go.', { context: { sessionId: 's' } });
    expect(await outcomeOf(runtime, 's')).toMatchObject({ files: [{ mimeType: 'image/png' }] });
    expect(told[0]?.texts[0]).toContain('A map.');
  });

  test('work in LangChain', async () => {
    const { tools, runtime } = await governLangChain(await governed(), { toolClass: StructuredTool });
    const [first] = tools as unknown as { invoke(call: object, config: object): Promise<ToolMessage> }[];
    const message = await first?.invoke(
      { id: 'c1', name: 'read_note', args: {}, type: 'tool_call' },
      { configurable: { thread_id: 's' } },
    );
    expect(await outcomeOf(runtime, 's')).toMatchObject({ files: [{ mimeType: 'image/png' }] });
    expect(JSON.stringify(message?.content)).toContain(png);
  });
});
