/**
 * MCP tools in agent frameworks, each with its own MCP client: pictures, errors, structured content and annotations of
 * a server survive.
 */
import { Agent as OpenAiAgent, MCPServerStdio, Runner } from '@openai/agents';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { MCPClient } from '@mastra/mcp';
import type { ToolMessage } from '@langchain/core/messages';
import { StructuredTool, tool as langChainTool } from '@langchain/core/tools';
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioMcpTransport } from '@ai-sdk/mcp/mcp-stdio';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import type { ToolSet } from 'ai';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import type { Runtime, ToolOutcome } from 'quittance';
import { governTools as governAiSdk } from '@quittance/ai-sdk';
import { openLedger } from 'quittance/ledger';
import { governTools as governLangChain } from '@quittance/langchain';
import { governTools as governMastra } from '@quittance/mastra';
import { governMcp } from '@quittance/mcp';
import { governTools as governOpenAiAgents } from '@quittance/openai-agents';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { describe, expect, onTestFinished, test } from 'vitest';
import { notesServer } from './harnesses/mcp-notes.ts';
import type { ToldParts } from './harnesses/mastra-model.ts';
import { scriptedModel as mastraModel } from './harnesses/mastra-model.ts';
import { scriptedModel as openAiModel } from './harnesses/openai-agents.ts';
import type { Told } from './suite/harness.ts';
import { compileCache } from './suite/package-arguments.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

/** Larger than the 12,000 characters that an output may have inline. */
const png = Buffer.alloc(20_000, 7).toString('base64');
const picture = {
  content: [
    { type: 'text', text: 'A map.' },
    { type: 'image', data: png, mimeType: 'image/png' },
  ],
};

const outcomeOf = async (runtime: Runtime, sessionId: string): Promise<ToolOutcome | undefined> =>
  (await runtime.calls.list({ sessionId })).at(-1)?.settled?.outcome;

describe('OpenAI Agents, with its own MCP client', () => {
  type Context = { readonly sessionId: string };

  async function callEverything(name: string, args: Record<string, unknown>, useStructuredContent = false) {
    const server = new MCPServerStdio({
      name: 'everything',
      command: process.execPath,
      args: [createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')],
      env: { ...compileCache },
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
    expect(JSON.stringify(outcome)).not.toContain('iVBORw0KGgo');
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

/** Approves, and counts how often. */
function approver() {
  const asked: string[] = [];
  const onConfirm = ({ toolName }: { readonly toolName: string }) => {
    asked.push(toolName);
    return { decision: 'approve', by: 'Ada' } as const;
  };
  return { asked, onConfirm };
}

describe('AI SDK, with its own MCP client', () => {
  type Content = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>['content'];
  const usage = { inputTokens: {}, outputTokens: {} } as never;

  async function connect(behind: 'alone' | 'gateway') {
    const server = notesServer(behind);
    const { command, args } = server;
    const transport = new StdioMcpTransport({ command, args, env: { ...compileCache }, stderr: 'ignore' });
    const client = await createMCPClient({ transport });
    onTestFinished(() => client.close());
    return { ...server, tools: await client.tools() };
  }

  /** Lets a model call the tool once. Returns what it received. */
  async function play(tools: ToolSet, toolName: string): Promise<string> {
    const rounds: Content[] = [
      [{ type: 'tool-call', toolCallId: 'c1', toolName, input: '{}' }],
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
    await generateText({ model, tools, prompt: 'Go.', stopWhen: stepCountIs(3) });
    const message = model.doGenerateCalls.at(-1)?.prompt.at(-1);
    const part = message?.role === 'tool' ? message.content[0] : undefined;
    return JSON.stringify(part?.type === 'tool-result' ? part.output : undefined);
  }

  async function call(toolName: string) {
    const { tools, effects } = await connect('alone');
    const { asked, onConfirm } = approver();
    const governed = await governAiSdk(tools, { onConfirm });
    const told = await play(governed.run({ sessionId: 's' }).tools, toolName);
    return { told, outcome: await outcomeOf(governed.runtime, 's'), asked, effects: effects() };
  }

  test('a picture is an artifact, and the model gets it once', async () => {
    const { told, outcome } = await call('read_note');
    expect(outcome).toMatchObject({ files: [{ mimeType: 'image/png', sizeBytes: 20_000 }] });
    expect(JSON.stringify(outcome)).not.toContain(png);
    expect(told.split(png)).toHaveLength(2);
    expect(told).toContain('A map.');
  });

  test('the gateway shows its client the same, and records the calls', async () => {
    const { tools, ledger: path, effects } = await connect('gateway');
    expect((await play(tools, 'read_note')).split(png)).toHaveLength(2);
    expect(await play(tools, 'get_facts')).toContain('42');
    expect(await play(tools, 'find_note')).toContain('No such note.');
    await play(tools, 'note_down');
    expect(effects()).toEqual(['noted']);
    const ledger = await openLedger(path);
    onTestFinished(() => ledger.close());
    const { rows } = await findCalls(ledger, { limit: 10 });
    expect(rows.map(({ toolName, code }) => [toolName, code])).toEqual([
      ['note_down', undefined],
      ['find_note', 'tool.reported_error'],
      ['get_facts', undefined],
      ['read_note', undefined],
    ]);
  });

  test('structured content reaches the model', async () => {
    const { told, outcome } = await call('get_facts');
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult' });
    expect(JSON.stringify(outcome)).toContain('structuredContent');
    expect(told).toContain('42');
  });

  test('an error of the server is a failure, and destructiveHint asks a person', async () => {
    expect((await call('find_note')).outcome).toMatchObject({
      code: 'tool.reported_error',
      error: 'No such note.',
    });
    expect(await call('note_down')).toMatchObject({ asked: ['note_down'], effects: ['noted'] });
  });
});

describe('Mastra, with its own MCP client', () => {
  async function call(name: string) {
    const { command, args, effects } = notesServer();
    const client = new MCPClient({
      id: randomUUID(),
      servers: { notes: { command, args, env: { ...compileCache }, stderr: 'ignore' } },
    });
    onTestFinished(() => client.disconnect());
    const { asked, onConfirm } = approver();
    const governed = await governMastra(await client.listTools(), { onConfirm });
    const told: ToldParts[] = [];
    const model = mastraModel(
      [{ calls: [{ id: 'c1', name: `notes_${name}`, arguments: {} }] }, { text: 'Done.' }],
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
    return { told: told.at(-1), outcome: await outcomeOf(governed.runtime, 's'), asked, effects: effects() };
  }

  test('a picture is an artifact, and the model gets it', async () => {
    const { told, outcome } = await call('read_note');
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', files: [{ mimeType: 'image/png' }] });
    expect(told?.parts).toContainEqual(expect.objectContaining({ mediaType: 'image/png', data: png }));
  });

  test('structured content is the output', async () => {
    expect((await call('get_facts')).outcome).toMatchObject({ output: { n: 42 } });
  });

  test('an error of the server is a failure, and destructiveHint asks a person', async () => {
    expect((await call('find_note')).outcome).toMatchObject({
      code: 'tool.reported_error',
      error: 'No such note.',
    });
    expect(await call('note_down')).toMatchObject({ asked: ['notes_note_down'], effects: ['noted'] });
  });
});

describe('LangChain, with its own MCP client', () => {
  async function call(name: string) {
    const { command, args, effects } = notesServer();
    const client = new MultiServerMCPClient({
      mcpServers: {
        notes: { transport: 'stdio', command, args, env: { ...compileCache }, stderr: 'ignore' },
      },
    });
    onTestFinished(() => client.close());
    const { asked, onConfirm } = approver();
    const { tools, runtime } = await governLangChain(await client.getTools(), { onConfirm });
    const found = (
      tools as unknown as { name: string; invoke(call: object, config: object): Promise<ToolMessage> }[]
    ).find((each) => each.name === name);
    const message = await found?.invoke(
      { id: 'c1', name, args: {}, type: 'tool_call' },
      { configurable: { thread_id: 's' } },
    );
    return { message, outcome: await outcomeOf(runtime, 's'), asked, effects: effects() };
  }

  test('a picture is an artifact, and the model gets it', async () => {
    const { message, outcome } = await call('read_note');
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', files: [{ mimeType: 'image/png' }] });
    expect(JSON.stringify(message?.content)).toContain(png);
  });

  test('structured content stays the artifact of the message', async () => {
    const { message } = await call('get_facts');
    expect(JSON.stringify(message?.artifact)).toContain('"n":42');
  });

  test('an error of the server is reported as one, and destructiveHint asks a person', async () => {
    const { outcome } = await call('find_note');
    expect(outcome).toMatchObject({ code: 'tool.reported_error', error: 'No such note.', retryable: true });
    expect(outcome).not.toHaveProperty('inDoubt');
    expect(await call('note_down')).toMatchObject({ asked: ['note_down'], effects: ['noted'] });
  });

  test('a connection that broke leaves the effect of a write unknown', async () => {
    class ToolException extends Error {
      override readonly name = 'ToolException';
    }
    const given = langChainTool(
      () => {
        throw new ToolException(
          'Error calling tool send_note: McpError: MCP error -32000: Connection closed',
        );
      },
      { name: 'send_note', description: 'Sends.', schema: { type: 'object' as const, properties: {} } },
    );
    const { tools, runtime } = await governLangChain([given]);
    const [first] = tools as unknown as (typeof given)[];
    await first?.invoke(
      { id: 'c1', name: 'send_note', args: {}, type: 'tool_call' },
      { configurable: { thread_id: 's' } },
    );
    expect(await outcomeOf(runtime, 's')).toMatchObject({ inDoubt: true, retryable: false });
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
