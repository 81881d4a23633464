/** Ways around governed tools that OpenAI Agents JS offers, and what becomes of each; and the wires that notes go over. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { MCPServer, Tool } from '@openai/agents';
import {
  Agent,
  handoff,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  tool,
} from '@openai/agents';
import OpenAI from 'openai';
import type { OpenAiAgentsMcpServer, OpenAiAgentsOptions } from '@quittance/openai-agents';
import { governTools } from '@quittance/openai-agents';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from './harnesses/openai-agents.ts';
import type { Script } from './suite/harness.ts';

const context = { sessionId: 'thread-1' };
const pay = (execute: (input: { cents: number }) => unknown, name = 'pay') =>
  tool({ name, description: 'Pays.', parameters: z.object({ cents: z.number() }), execute });
const called: Script = [{ calls: [{ id: 'c1', name: 'pay', arguments: { cents: 5 } }] }, { text: 'Done.' }];

/** Runs an agent with the governed tool, and whatever else is given. */
async function run(
  tools: readonly Tool[],
  { options = {}, ...agent }: { options?: OpenAiAgentsOptions } & Record<string, unknown> = {},
  script: Script = called,
) {
  const governed = await governTools(tools, options);
  const shop = new Agent({ name: 'shop', model: scriptedModel(script, []), tools: governed.tools, ...agent });
  const result = await new Runner().run(shop, 'Go.', { context });
  const [made] = await governed.runtime.calls.list({ sessionId: 'thread-1', callId: 'c1' });
  return { governed, result, outcome: made?.settled?.outcome };
}

describe('a tool made by tool(), with the error function it has by default', () => {
  test.each([
    [
      'at once',
      () => {
        throw new Error('No funds.');
      },
    ],
    [
      'later',
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        throw new Error('No funds.');
      },
    ],
    [
      'after an error of its own that it handled',
      async () => {
        await Promise.reject(new Error('Not this one.')).catch(() => undefined);
        throw new Error('No funds.');
      },
    ],
  ])(
    'a tool made by tool(), with the error function it has by default that throws %s has failed, and the cause is on record',
    async (_, execute) => {
      const { outcome } = await run([pay(execute)]);
      expect(outcome).toMatchObject({ type: 'ToolFailure', error: 'No funds.' });
    },
  );

  test('a success stays one, whatever errors the body handled', async () => {
    const { outcome } = await run([
      pay(() => {
        void Promise.reject(new Error('Not this one.')).catch(() => undefined);
        return 'paid';
      }),
    ]);
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: 'paid' });
  });
});

describe('MCP servers', () => {
  /** A server of the SDK, with its result as the SDK's own servers give it. */
  const serverOf = (content: readonly object[], isError: boolean, hints: object = {}) => {
    const callTool = vi.fn<() => Promise<unknown>>(async () =>
      Object.defineProperty([...content], 'isError', { value: isError }),
    );
    const server = {
      name: 'notes',
      cacheToolsList: false,
      connect: async () => undefined,
      close: async () => undefined,
      invalidateToolsCache: async () => undefined,
      listTools: async () => [
        {
          name: 'pay',
          description: 'Pays.',
          inputSchema: { type: 'object', properties: {} },
          annotations: hints,
        },
      ],
      callTool,
    } as unknown as MCPServer & OpenAiAgentsMcpServer; // the methods that are called
    return { server, callTool };
  };

  test.each([1, 2])('a result of %s parts with isError is a failure with its text', async (count) => {
    const parts = Array.from({ length: count }, () => ({ type: 'text', text: 'No funds.' }));
    const { server } = serverOf(parts, true);
    const { outcome } = await run([], { options: { mcpServers: [server] } });
    expect(outcome).toMatchObject({
      type: 'ToolFailure',
      error: expect.stringContaining('No funds.') as string,
    });
  });

  test('a result without isError is a success, and annotations count', async () => {
    const { server, callTool } = serverOf([{ type: 'text', text: 'paid' }], false, { destructiveHint: true });
    const onConfirm = vi.fn<() => { decision: 'approve'; by: string }>(() => ({
      decision: 'approve',
      by: 'ada',
    }));
    const { outcome } = await run([], { options: { mcpServers: [server], onConfirm } });
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: { type: 'text', text: 'paid' } });
    expect(callTool).toHaveBeenCalledWith('pay', { cents: 5 }, undefined, expect.anything());
    expect(onConfirm).toHaveBeenCalledOnce();
  });

  test('a run whose agent has its own server is refused, unless it is named', async () => {
    const { server, callTool } = serverOf([{ type: 'text', text: 'paid' }], false);
    const given = { mcpServers: [server] };
    await expect(run([pay(() => 'paid', 'other')], given)).rejects.toThrow(
      /the MCP server "notes" of the agent "shop"/,
    );
    expect(callTool).not.toHaveBeenCalled();
    await run([pay(() => 'paid', 'other')], { ...given, options: { ungoverned: ['notes'] } });
    expect(callTool).toHaveBeenCalledOnce();
  });
});

describe('an ungoverned tool within reach', () => {
  const body = vi.fn<() => string>(() => 'paid');
  const free = pay(body, 'pay_free');
  const clerk = (more: object = {}) => new Agent({ name: 'clerk', tools: [free], ...more });
  const governedTool = pay(() => 'paid');

  test.each([
    ['of the agent itself', async () => ({ tools: [...(await governTools([governedTool])).tools, free] })],
    ['of an agent it hands off to', () => ({ handoffs: [clerk()] })],
    ['of an agent behind handoff()', () => ({ handoffs: [handoff(clerk())] })],
    [
      'behind two handoffs',
      () => ({ handoffs: [handoff(new Agent({ name: 'desk', handoffs: [clerk()] }))] }),
    ],
    [
      'that is an agent itself',
      async () => ({
        tools: [
          ...(await governTools([governedTool])).tools,
          clerk().asTool({ toolName: 'pay_free', toolDescription: 'Pays.' }),
        ],
      }),
    ],
  ])('%s: the run is refused before the model is called', async (_, more) => {
    await expect(run([governedTool], await more())).rejects.toThrow(
      /ungoverned tools: the tool "pay_free" of the agent/,
    );
    expect(body).not.toHaveBeenCalled();
  });

  test('added during the run: the next round is refused', async () => {
    const late = new Agent({ name: 'late' });
    const adds = pay(() => {
      late.tools.push(free);
      return 'paid';
    });
    await expect(run([adds], { handoffs: [late] })).rejects.toThrow(
      /the tool "pay_free" of the agent "late"/,
    );
  });

  test('is allowed if it is named', async () => {
    const options = { ungoverned: ['pay_free'] };
    const { result } = await run([governedTool], { handoffs: [clerk()], options });
    expect(result.finalOutput).toBe('Done.');
  });

  test('checkAgent finds it before anything runs, even if no tool is governed', async () => {
    const { checkAgent, tools } = await governTools([governedTool]);
    expect(() => checkAgent(new Agent({ name: 'shop', handoffs: [clerk()] }))).toThrow(/"pay_free"/);
    expect(() => checkAgent(new Agent({ name: 'shop', tools }))).not.toThrow();
  });

  test('agents that hand off to each other are checked once', async () => {
    const { tools } = await governTools([governedTool]);
    const one = new Agent({ name: 'one', tools });
    one.handoffs.push(new Agent({ name: 'two', tools, handoffs: [one] }));
    const { checkAgent } = await governTools([governedTool]);
    expect(() => checkAgent(one)).not.toThrow();
  });
});

describe('a note for the model', () => {
  /** A provider on loopback that records its requests. */
  async function withProvider(
    answers: readonly object[],
    use: (client: OpenAI) => Promise<unknown>,
  ): Promise<readonly Record<string, unknown>[]> {
    const sent: Record<string, unknown>[] = [];
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        sent.push(JSON.parse(body) as Record<string, unknown>);
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[sent.length - 1]));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await use(new OpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 }));
    } finally {
      server.closeAllConnections();
      server.close();
    }
    return sent;
  }
  const go = async (model: unknown) => {
    const governed = await governTools([pay(({ cents }) => ({ paid: cents }))]);
    const agent = new Agent({ name: 'shop', model: model as never, tools: governed.tools });
    await new Runner({ tracingDisabled: true }).run(agent, 'Go.', { context });
    const [made] = await governed.runtime.calls.list({ sessionId: 'thread-1' });
    return made?.settled?.outcome.modelNote;
  };

  test('stays inside the JSON on Chat Completions', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const completion = (message: object) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', ...message } }],
      usage,
    });
    const call = { id: 'c1', type: 'function', function: { name: 'pay', arguments: '{"cents":"500"}' } };
    let note: string | undefined;
    const sent = await withProvider(
      [completion({ content: null, tool_calls: [call] }), completion({ content: 'Done.' })],
      async (client) => {
        note = await go(new OpenAIChatCompletionsModel(client as never, 'm'));
      },
    );
    const messages = sent[1]?.['messages'] as { role: string; content: string }[];
    const told = messages.find(({ role }) => role === 'tool')?.content ?? '';
    expect(note).toBeTypeOf('string');
    expect(JSON.parse(told)).toEqual({ paid: 500, note });
  });

  test('is a separate text on the Responses API', async () => {
    const response = (output: object[]) => ({
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      model: 'm',
      status: 'completed',
      output,
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    });
    const call = {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'c1',
      name: 'pay',
      arguments: '{"cents":"500"}',
      status: 'completed',
    };
    const message = {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
    };
    let note: string | undefined;
    const sent = await withProvider([response([call]), response([message])], async (client) => {
      note = await go(new OpenAIResponsesModel(client as never, 'm'));
    });
    const input = sent[1]?.['input'] as { type: string; output?: { text: string }[] }[];
    const told = input.find(({ type }) => type === 'function_call_output')?.output;
    expect(told?.map((part) => part.text)).toEqual(['{"paid":500}', note]);
  });
});
