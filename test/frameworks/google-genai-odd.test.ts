/** Special features of Gemini: calls without ids, chats, automatic calling, callable tools, MCP servers. */
import type { CallableTool, Content, Part } from '@google/genai';
import { GoogleGenAI, mcpToTool, Type } from '@google/genai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { governTools } from '@quittance/google-genai';
import { createManualClock } from 'quittance/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { serveGemini } from './harnesses/scripted-gemini.ts';
import { eventually } from './suite/eventually.ts';
import type { Round, Script } from './suite/harness.ts';

const sessionId = 'chat-1';
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** As most Gemini models write it: without ids. */
const withoutIds = (round: Round): Part[] =>
  'text' in round
    ? [{ text: round.text }]
    : round.calls.map(({ name, arguments: args }) => ({ functionCall: { name, args } }));

const pays = (...cents: number[]): Round => ({
  calls: cents.map((amount) => ({ id: '', name: 'pay', arguments: { cents: amount } })),
});
const done: Script = [{ text: 'Done.' }];

async function serve(script: Script) {
  const server = await serveGemini(script, [], withoutIds);
  closing.push(() => server.close());
  return {
    server,
    client: new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: server.url } }),
  };
}

const payTool = () => vi.fn<(args: { cents: number }) => object>(({ cents }) => ({ paid: cents }));
const model = (...parts: Part[]): Content => ({ role: 'model', parts });
const user = (text: string): Content => ({ role: 'user', parts: [{ text }] });
const call = (cents: number): Part => ({ functionCall: { name: 'pay', args: { cents } } });
const idsOf = async ({ runtime }: Awaited<ReturnType<typeof governTools>>) =>
  (await runtime.calls.list({ sessionId })).map(({ callId }) => callId).toSorted();

describe('calls without ids', () => {
  test('two equal calls of one message, and one of the next message, are three calls', async () => {
    const pay = payTool();
    const governed = await governTools({ pay });
    const run = governed.run({ sessionId, conversation: [user('Go.')] });
    const parts = await run.answer(model(call(5), call(5)));
    expect(parts.map(({ functionResponse }) => functionResponse)).toEqual([
      { name: 'pay', response: { output: '{"paid":5}' } },
      { name: 'pay', response: { output: '{"paid":5}' } },
    ]);
    await run.answer(model(call(5)));
    expect(pay).toHaveBeenCalledTimes(3);
    expect(await idsOf(governed)).toEqual(['pay.1', 'pay.2', 'pay.3']);
  });

  test('a conversation that is replayed in a new process finds its records, at every point', async () => {
    const pay = payTool();
    const ledger = createMemoryLedger();
    const first = model(call(5), call(7));
    const second = model(call(5));
    const answers = async (given: OpenLedger, conversation: Content[], message: Content) => {
      // Stored on disk between the two: other objects, the same JSON.
      const copy = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;
      const governed = await governTools({ pay }, { ledger: given });
      return governed.run({ sessionId, conversation: copy(conversation) }).answer(copy(message));
    };
    const told = await answers(ledger, [user('Go.')], first);
    const between: Content[] = [user('Go.'), first, { role: 'user', parts: told }];
    await answers(ledger, between, second);
    expect(pay.mock.calls.map(([args]) => args.cents)).toEqual([5, 7, 5]);
    for (const [conversation, message] of [
      [[user('Go.')], first],
      [[user('Go.'), first], first],
      [[user('Go.'), first, { role: 'user', parts: told.slice(0, 1) }], first],
      [between, second],
      [[...between, second], second],
    ] as const)
      await answers(ledger, [...conversation], message);
    expect(pay).toHaveBeenCalledTimes(3);
  });

  test('a streamed message that was stored in chunks, and not answered, keeps its position', async () => {
    const pay = payTool();
    const governed = await governTools({ pay });
    const chunks = [model(call(5)), model({ text: 'and' }), model(call(5))];
    for (const conversation of [[user('Go.')], [user('Go.'), ...chunks]])
      await governed.run({ sessionId, conversation }).answer(chunks);
    expect(await idsOf(governed)).toEqual(['pay.1', 'pay.2']);
    expect(pay).toHaveBeenCalledTimes(2);
  });

  test('a call that got no answer before the user spoke again is not the next call', async () => {
    const pay = payTool();
    const governed = await governTools({ pay });
    const conversation = [user('Go.'), model(call(5)), user('Never mind. Pay 5 to somebody else.')];
    await governed.run({ sessionId, conversation }).answer(model(call(5)));
    expect(await idsOf(governed)).toEqual(['pay.2']);
  });

  test('a held message that is repeated is not held twice', async () => {
    const pay = payTool();
    const governed = await governTools({ pay }, { overrides: { pay: { mode: 'destructive' } } });
    const run = governed.run({ sessionId, conversation: [] });
    for (const message of [model(call(5)), model(call(5))])
      expect(await run.answerOrPending(message)).toMatchObject({
        results: [],
        pending: [{ callId: 'pay.1' }],
      });
    const [question] = (await governed.runtime.confirmations.list({ status: 'pending' })).rows;
    await governed.runtime.confirmations.decide(question?.confirmationId ?? '', {
      decision: 'approve',
      by: 'ada',
      inputDigest: question?.inputDigest ?? '',
    });
    // Another process has only the conversation.
    const conversation = [user('Go.'), model(call(5))];
    const { results, pending } = await governed
      .run({ sessionId, conversation })
      .answerOrPending(model(call(5)));
    expect([pending, results.length]).toEqual([[], 1]);
    expect(pay).toHaveBeenCalledOnce();
  });

  test('other arguments in the place of a recorded call run nothing, and the next try is another call', async () => {
    const pay = payTool();
    const ledger = createMemoryLedger();
    await (
      await governTools({ pay }, { ledger })
    )
      .run({ sessionId, conversation: [] })
      .answer(model(call(5)));
    const again = (await governTools({ pay }, { ledger })).run({ sessionId, conversation: [] });
    const [refused] = await again.answer(model(call(6)));
    expect(JSON.stringify(refused)).toContain('Make the call again');
    await again.answer(model(call(6)));
    expect(pay.mock.calls.map(([args]) => args.cents)).toEqual([5, 6]);
  });

  test('a run without the conversation is refused with a message', async () => {
    const governed = await governTools({ pay: payTool() });
    expect(() => governed.run({ sessionId } as never)).toThrow(/expects the conversation so far/);
  });
});

describe.each(['sendMessage', 'sendMessageStream'] as const)('a chat by %s', (method) => {
  test('calls tools by itself, turn after turn; each call is its own', async () => {
    const pay = payTool();
    const governed = await governTools({ pay });
    const { client, server } = await serve([pays(5, 5), ...done, pays(5), ...done]);
    const chat = client.chats.create({ model: 'scripted' });
    for (const message of ['Pay twice.', 'And again.']) {
      const run = governed.run({ sessionId, conversation: chat.getHistory() });
      const sent = await chat[method]({ message, config: { tools: [run.callableTool()] } });
      if (Symbol.asyncIterator in sent) for await (const chunk of sent) void chunk;
    }
    expect(await idsOf(governed)).toEqual(['pay.1', 'pay.2', 'pay.3']);
    expect(pay).toHaveBeenCalledTimes(3);
    expect(server.requests.at(-1)?.contents.at(-1)).toMatchObject({
      parts: [{ functionResponse: { name: 'pay', response: { output: '{"paid":5}' } } }],
    });
  });

  test('stops with the question if a call is still held at the deadline of the turn', async () => {
    const pay = payTool();
    const clock = createManualClock();
    const governed = await governTools({ pay }, { clock, overrides: { pay: { mode: 'destructive' } } });
    const { client } = await serve([pays(5), ...done]);
    const chat = client.chats.create({ model: 'scripted' });
    const run = governed.run({ sessionId, conversation: [], timeoutMs: 1_000 });
    const going = async (): Promise<void> => {
      const sent = await chat[method]({ message: 'Go.', config: { tools: [run.callableTool()] } });
      if (Symbol.asyncIterator in sent) for await (const chunk of sent) void chunk;
    };
    let thrown: unknown;
    void going().catch((error: unknown) => (thrown = error));
    await eventually(async () =>
      expect((await governed.runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1),
    );
    await eventually(async () => {
      clock.advance(1_000);
      expect(thrown).toMatchObject({ code: 'call.pending' });
    });
    expect(pay).not.toHaveBeenCalled();
  });
});

describe('callable tools', () => {
  async function connect(): Promise<Client> {
    const server = new McpServer({ name: 'shop', version: '1' });
    const shape = { cents: z.number() };
    server.registerTool('refund', { inputSchema: shape, annotations: { destructiveHint: true } }, () => ({
      content: [{ type: 'text', text: 'refunded' }],
    }));
    server.registerTool('lookup', { inputSchema: {}, annotations: { readOnlyHint: true } }, () => ({
      content: [{ type: 'text', text: 'found' }],
    }));
    server.registerTool('fail', { inputSchema: {} }, () => ({
      isError: true,
      content: [{ type: 'text', text: 'No such order.' }],
    }));
    const client = new Client({ name: 'test', version: '1' });
    const [here, there] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(there), client.connect(here)]);
    closing.push(() => client.close());
    return client;
  }

  test('callable tools of MCP servers are governed: annotations raise the risk, an error is a failure', async () => {
    const asked: string[] = [];
    const governed = await governTools(
      { pay: payTool() },
      {
        callableTools: [mcpToTool(await connect())],
        onConfirm: ({ toolName }) => {
          asked.push(toolName);
          return { decision: 'deny', by: 'ada' };
        },
      },
    );
    const names = ['refund', 'lookup', 'fail', 'pay'];
    const run = governed.run({ sessionId, conversation: [] });
    expect(run.tools[0]?.functionDeclarations.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    const message = model(...names.map((name) => ({ functionCall: { name, args: { cents: 5 } } })));
    const told = (await run.answer(message)).map(({ functionResponse }) => functionResponse.response);
    expect(asked).toEqual(['refund']);
    expect(told[0]?.output).toContain('"blocked":true');
    expect(told[1]?.output).toContain('found');
    expect(told[2]?.error).toContain('No such order.');
    const modes = (await governed.runtime.calls.list({ sessionId })).map(({ toolName, mode }) => [
      toolName,
      mode,
    ]);
    // A server's claim that a tool only reads is not trusted.
    expect(Object.fromEntries(modes)).toMatchObject({ refund: 'destructive' });
    const trusting = await governTools(
      { pay: payTool() },
      {
        callableTools: [mcpToTool(await connect())],
        trustAnnotations: true,
      },
    );
    await trusting.run({ sessionId, conversation: [] }).answer(message.parts?.slice(1, 2) ?? []);
    expect(await trusting.runtime.calls.list({ sessionId })).toMatchObject([{ mode: 'read' }]);
  });

  test('callable tools without tools of the host, and with a schema in the dialect of the API', async () => {
    const callTool = vi.fn<CallableTool['callTool']>(async (calls) =>
      calls.map(({ name = '' }) => ({ functionResponse: { name, response: { output: 'sent' } } })),
    );
    const mail: CallableTool = {
      tool: async () => ({
        functionDeclarations: [
          {
            name: 'mail',
            parameters: {
              type: Type.OBJECT,
              properties: {
                to: { type: Type.STRING, minLength: '1' },
                cc: { type: Type.ARRAY, items: { type: Type.STRING }, nullable: true },
              },
              required: ['to'],
              propertyOrdering: ['to', 'cc'],
            },
          },
        ],
      }),
      callTool,
    };
    const governed = await governTools(
      {},
      { callableTools: [mail], overrides: { mail: { mode: 'external' } } },
    );
    const run = governed.run({ sessionId, conversation: [] });
    const message = model(
      { functionCall: { name: 'mail', args: { to: 'a@b.c', cc: null } } },
      { functionCall: { name: 'mail', args: { to: '' } } },
    );
    const told = (await run.answer(message)).map(({ functionResponse }) => functionResponse.response.output);
    expect(told[0]).toBe('"sent"');
    expect(told[1]).toContain('argument_validation_failed');
    expect(callTool.mock.calls).toEqual([
      [[{ id: 'mail.1', name: 'mail', args: { to: 'a@b.c', cc: null } }]],
    ]);
  });

  test('callable tools with a tool that the provider runs are refused, and so is anything else', async () => {
    const search = { tool: async () => ({ googleSearch: {} }), callTool: async () => [] };
    await expect(governTools({ pay: payTool() }, { callableTools: [search] })).rejects.toThrow(
      /"googleSearch", which the provider runs/,
    );
    await expect(governTools({ pay: payTool() }, { callableTools: [{} as never] })).rejects.toThrow(
      /callableTools expects callable tools/,
    );
  });

  test('next to the governed one in a request run ungoverned: nothing here sees them', async () => {
    const body = vi.fn<CallableTool['callTool']>(async () => []);
    const beside: CallableTool = {
      tool: async () => ({ functionDeclarations: [{ name: 'wire' }] }),
      callTool: body,
    };
    const governed = await governTools({ pay: payTool() }, { onPreToolUse: () => ToolDecision.block('No.') });
    const { client } = await serve([{ calls: [{ id: '', name: 'wire', arguments: {} }] }, ...done]);
    const run = governed.run({ sessionId, conversation: [] });
    await client.models.generateContent({
      model: 'scripted',
      contents: 'Go.',
      config: { tools: [run.callableTool(), beside] },
    });
    expect(body).toHaveBeenCalledOnce();
  });
});

test('a call that arrives in pieces is refused with a message, and nothing runs', async () => {
  const pay = payTool();
  const governed = await governTools({ pay });
  const run = governed.run({ sessionId, conversation: [] });
  const piece = { functionCall: { name: 'pay', willContinue: true } };
  await expect(run.answer(model(piece))).rejects.toThrow(/arrived in pieces/);
  const values = { functionCall: { name: 'pay', partialArgs: [{ jsonPath: '$.cents', numberValue: 5 }] } };
  await expect(run.answer(model(values))).rejects.toThrow(/arrived in pieces/);
  expect(pay).not.toHaveBeenCalled();
});

test('the call that the limit of the model cut off is not made; those before it are', async () => {
  const pay = payTool();
  const governed = await governTools({ pay });
  const response = { candidates: [{ content: model(call(5), call(1)), finishReason: 'MAX_TOKENS' }] };
  const parts = await governed.run({ sessionId, conversation: [] }).answer(response);
  expect(pay.mock.calls).toHaveLength(1);
  expect(parts[1]?.functionResponse.response.error).toContain('cut off');
});

test('calls of the Live API, of a second candidate and of the provider are distinguished', async () => {
  const pay = payTool();
  const governed = await governTools({ pay });
  const run = governed.run({ sessionId, conversation: [] });
  const live = { toolCall: { functionCalls: [{ id: 'function-call-1', name: 'pay', args: { cents: 5 } }] } };
  expect(await run.answer(live)).toMatchObject([{ functionResponse: { id: 'function-call-1' } }]);
  const others = [
    { candidates: [{ content: model({ text: 'Hm.' }) }, { content: model(call(9)) }] },
    model({ executableCode: { code: 'pay()' } }, { toolCall: { id: 's1' } }),
  ];
  for (const said of others) expect(await run.answer(said)).toEqual([]);
  expect(pay.mock.calls.map(([args]) => args.cents)).toEqual([5]);
});

test('an image is handed on in the response', async () => {
  const governed = await governTools([
    {
      name: 'draw',
      execute: (_: object, { attach }: { attach: (file: object) => object }) =>
        attach({ mimeType: 'image/png', content: Uint8Array.of(1, 2, 3) }),
    },
  ]);
  const run = governed.run({ sessionId, conversation: [] });
  const [part] = await run.answer(model({ functionCall: { name: 'draw', args: {} } }));
  expect(part?.functionResponse.parts).toEqual([{ inlineData: { mimeType: 'image/png', data: 'AQID' } }]);
});
