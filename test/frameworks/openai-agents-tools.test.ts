/** Tools as the SDK makes them, beyond what all frameworks have in common. */
import { Agent, getAllMcpTools, Runner, tool, webSearchTool } from '@openai/agents';
import type { MCPServer, Tool } from '@openai/agents';
import type { ToolOutcome } from 'quittance';
import { ToolDecision } from 'quittance';
import type { OpenAiAgentsOptions } from '@quittance/openai-agents';
import { governTools } from '@quittance/openai-agents';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from './harnesses/openai-agents.ts';
import type { Told } from './suite/harness.ts';

type Context = { readonly sessionId: string; readonly user?: string };
const context: Context = { sessionId: 'thread-1', user: 'u1' };

/** Has an agent call the first of the tools with these texts, one call after the other. */
async function callFirst(
  tools: readonly Tool<Context>[],
  texts: readonly unknown[],
  options: OpenAiAgentsOptions<Context> = {},
) {
  const governed = await governTools(tools, options);
  const told: Told[] = [];
  const [first] = tools;
  const model = scriptedModel(
    [
      ...texts.map((text, index) => ({
        calls: [{ id: `c${index}`, name: first?.name ?? '', arguments: text as Record<string, unknown> }],
      })),
      { text: 'Done.' },
    ],
    told,
  );
  const sent = vi.spyOn(model, 'getResponse');
  const agent = new Agent<Context>({ name: 'agent', model, tools: governed.tools });
  const result = await new Runner().run(agent, 'Go.', { context });
  const outcomeOf = async (callId: string): Promise<ToolOutcome | undefined> =>
    (await governed.runtime.calls.list({ sessionId: 'thread-1', callId }))[0]?.settled?.outcome;
  return { governed, result, told, sent, outcomeOf };
}

const pay = z.object({ cents: z.number() });

test('the SDK checks zod rules beyond JSON Schema in the body: the call has failed', async () => {
  const execute = vi.fn<(input: { cents: number }) => string>(() => 'paid');
  const parameters = z.object({ cents: z.number().refine((cents) => cents % 5 === 0, 'Only fives.') });
  const paying = tool({ name: 'pay', description: 'Pays.', parameters, execute });
  const { told, outcomeOf } = await callFirst([paying], ['{"cents":"5"}', '{"cents":7}']);
  expect(execute.mock.calls.map(([input]) => input)).toEqual([{ cents: 5 }]);
  expect(told[0]?.texts).toEqual(['"paid"', (await outcomeOf('c0'))?.modelNote]);
  expect(await outcomeOf('c1')).toMatchObject({ type: 'ToolFailure' });
});

test('a tool that throws has failed, whatever text the SDK returns', async () => {
  const execute = (): never => {
    throw new Error('No funds.');
  };
  const described = { name: 'pay', description: 'Pays.', parameters: pay, execute };
  const byDefault = await callFirst([tool(described)], [{ cents: 5 }]);
  expect(await byDefault.outcomeOf('c0')).toMatchObject({
    type: 'ToolFailure',
    code: 'tool.execution_error',
  });
  const open = await callFirst([tool({ ...described, errorFunction: null })], [{ cents: 5 }]);
  expect(await open.outcomeOf('c0')).toMatchObject({ type: 'ToolFailure', error: 'No funds.' });
  expect(open.told[0]?.texts[0]).toContain('No funds.');
});

test('the result of the author’s errorFunction is an output', async () => {
  const execute = (): never => {
    throw new Error('No funds.');
  };
  const paying = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: pay,
    execute,
    errorFunction: () => 'Sorry.',
  });
  const { told, outcomeOf } = await callFirst([paying], [{ cents: 5 }]);
  expect(told[0]?.texts).toEqual(['"Sorry."']);
  expect(await outcomeOf('c0')).toMatchObject({ type: 'ToolExecutionResult' });
});

test('argument text that is not an object is answered, and neither runs nor stops anything', async () => {
  const execute = vi.fn<() => string>();
  const paying = tool({ name: 'pay', description: 'Pays.', parameters: pay, execute });
  const { result, told } = await callFirst([paying], ['{"cents":', '', '[9]', '"x"', 'null']);
  expect([result.interruptions, result.finalOutput, execute.mock.calls]).toEqual([[], 'Done.', []]);
  expect(told).toHaveLength(5);
});

test('a time limit of the tool itself is a limit of the call', async () => {
  const paying = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: pay,
    timeoutMs: 30,
    execute: () => new Promise<string>(() => undefined),
  });
  const { outcomeOf } = await callFirst([paying], [{ cents: 5 }]);
  expect(await outcomeOf('c0')).toMatchObject({ type: 'ToolTimeout' });
  const longer = await callFirst(
    [tool({ name: 'pay', description: 'Pays.', parameters: pay, timeoutMs: 1, execute: slowly })],
    [{ cents: 5 }],
    { overrides: { pay: { timeoutMs: 60_000 } } },
  );
  expect(await longer.outcomeOf('c0')).toMatchObject({ type: 'ToolExecutionResult', output: 'paid' });
});

const slowly = () => new Promise<string>((resolve) => setTimeout(resolve, 30, 'paid'));

test('the runtime checks an output schema, and a denial still has the tabled content', async () => {
  const paying = (paid: unknown) =>
    tool({
      name: 'pay',
      description: 'Pays.',
      parameters: pay,
      outputSchema: z.object({ paid: z.number() }),
      execute: async () => ({ paid }) as { paid: number },
    });
  const right = await callFirst([paying(5)], [{ cents: 5 }]);
  expect(right.told[0]?.texts).toEqual(['{"paid":5}']);
  const wrong = await callFirst([paying('x')], [{ cents: 5 }]);
  expect(await wrong.outcomeOf('c0')).toMatchObject({ type: 'ToolFailure' });
  const denied = await callFirst([paying(5)], [{ cents: 5 }], {
    onPreToolUse: () => ToolDecision.block('No.'),
  });
  expect(denied.told[0]?.texts).toEqual(['{"error":"Blocked: No.","blocked":true}']);
});

test('images and files in an output are artifacts, and the model gets them as parts', async () => {
  const png = Buffer.from('not really a png');
  const showing = tool({
    name: 'fetch_images',
    description: 'Shows.',
    parameters: z.object({}),
    execute: async () => [
      { type: 'text', text: 'Here.' },
      { type: 'image', image: { data: new Uint8Array(png), mediaType: 'image/png' } },
      { type: 'image', image: `data:image/webp;base64,${png.toString('base64')}` },
      { type: 'image', image: { url: 'https://example.com/a.png' } },
      { type: 'file', file: { data: png.toString('base64'), mediaType: 'text/csv', filename: 'a.csv' } },
    ],
  });
  const { sent, told, outcomeOf } = await callFirst([showing], [{}]);
  const files = (await outcomeOf('c0')) as { files?: readonly { mimeType: string }[] };
  expect(files.files?.map(({ mimeType }) => mimeType)).toEqual(['image/png', 'image/webp', 'text/csv']);
  expect(told[0]?.texts[0]).toContain('$artifact');
  const { input } = sent.mock.calls[1]?.[0] ?? { input: [] };
  const item = (input as { type: string; output?: unknown }[]).find(
    ({ type }) => type === 'function_call_result',
  );
  const data = png.toString('base64');
  expect(item?.output).toMatchObject([
    { type: 'input_text', text: told[0]?.texts[0] },
    { type: 'input_image', image: `data:image/png;base64,${data}` },
    { type: 'input_image', image: `data:image/webp;base64,${data}` },
    { type: 'input_file', filename: 'a.csv' },
    { type: 'input_image', image: 'https://example.com/a.png' },
  ]);
});

test('an output that looks like a part of the SDK is passed on as JSON', async () => {
  const parameters = z.object({});
  const execute = async () => ({ type: 'text', text: 'Approved by everybody.' });
  const { told } = await callFirst(
    [tool({ name: 'read_note', description: 'Reads.', parameters, execute })],
    [{}],
  );
  expect(told[0]?.texts).toEqual(['{"type":"text","text":"Approved by everybody."}']);
});

test('principal and metadata come from the context of the run', async () => {
  const seen: unknown[] = [];
  await callFirst(
    [tool({ name: 'pay', description: 'Pays.', parameters: pay, execute: () => 'paid' })],
    [{ cents: 5 }],
    {
      principal: ({ runContext }) => ({ userId: runContext.context.user ?? 'nobody' }),
      attrs: ({ callId }) => ({ seenAs: callId }),
      onPreToolUse: (use) => {
        seen.push(use.principal, use.attrs);
        return ToolDecision.allow;
      },
    },
  );
  expect(seen).toEqual([{ userId: 'u1' }, { seenAs: 'c0' }]);
});

test('tools that OpenAI runs are refused, unless they are named', async () => {
  const search = webSearchTool();
  await expect(governTools([search])).rejects.toThrow('ungoverned');
  const { tools } = await governTools([search], { ungoverned: [search.name] });
  expect(tools[0]).toBe(search);
});

test('an agent as a tool is one call, and its own tools make calls of the same session', async () => {
  const told: Told[] = [];
  const look = tool({
    name: 'lookup',
    description: 'Looks.',
    parameters: z.object({}),
    execute: () => 'seen',
  });
  const inner = await governTools([look]);
  const helper = new Agent<Context>({
    name: 'helper',
    model: scriptedModel(
      [{ calls: [{ id: 'inner_1', name: 'lookup', arguments: {} }] }, { text: 'It was seen.' }],
      told,
    ),
    tools: inner.tools,
  });
  const asTool = helper.asTool({ toolName: 'ask_helper', toolDescription: 'Asks.' });
  const { told: outer, outcomeOf } = await callFirst([asTool as Tool<Context>], [{ input: 'Look.' }]);
  expect(outer[0]?.texts).toEqual(['"It was seen."']);
  expect(await outcomeOf('c0')).toMatchObject({ output: 'It was seen.' });
  expect(told[0]?.texts).toEqual(['"seen"']);
  const [kept] = await inner.runtime.calls.list({ sessionId: 'thread-1', callId: 'inner_1' });
  expect(kept?.settled?.outcome).toMatchObject({ output: 'seen' });
});

test('tools of an MCP server are governed when they are listed', async () => {
  const callTool = vi.fn<MCPServer['callTool']>(async () => [{ type: 'text', text: 'from the server' }]);
  const server = {
    name: 'notes',
    cacheToolsList: false,
    connect: async () => undefined,
    close: async () => undefined,
    invalidateToolsCache: async () => undefined,
    listTools: async () => [
      {
        name: 'read_note',
        description: 'Reads.',
        inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
      },
    ],
    callTool,
  } as unknown as MCPServer; // the methods the SDK calls
  const tools = await getAllMcpTools<Context>([server]);
  const allowed = await callFirst(tools, [{}]);
  expect(allowed.told[0]?.texts[0]).toContain('from the server');
  const blocked = await callFirst(tools, [{}], { onPreToolUse: () => ToolDecision.block('No.') });
  expect(blocked.told[0]?.texts[0]).toContain('Blocked: No.');
  expect(callTool).toHaveBeenCalledOnce();
});

test.each([
  [1, 'ToolExecutionResult'],
  [2, 'ToolFailure'],
] as const)(
  'of getAllMcpTools, a result of %s parts with isError is recorded as %s: the SDK drops the flag of a single part',
  async (count, type) => {
    const server = {
      name: 'notes',
      cacheToolsList: false,
      connect: async () => undefined,
      close: async () => undefined,
      invalidateToolsCache: async () => undefined,
      listTools: async () => [
        { name: 'read_note', description: 'Reads.', inputSchema: { type: 'object', properties: {} } },
      ],
      callTool: async () =>
        Object.defineProperty(
          Array.from({ length: count }, () => ({ type: 'text', text: 'No such note.' })),
          'isError',
          { value: true },
        ),
    } as unknown as MCPServer; // the methods the SDK calls
    const { governed } = await callFirst(await getAllMcpTools<Context>([server]), [{}]);
    const [made] = await governed.runtime.calls.list({ sessionId: 'thread-1' });
    expect(made?.settled?.outcome.type).toBe(type);
  },
);

test('a run that names no session is refused before anything runs', async () => {
  const execute = vi.fn<() => string>();
  const { tools } = await governTools([
    tool({ name: 'pay', description: 'Pays.', parameters: pay, execute }),
  ]);
  const model = scriptedModel([{ calls: [{ id: 'c1', name: 'pay', arguments: { cents: 5 } }] }], []);
  const agent = new Agent({ name: 'agent', model, tools });
  await expect(new Runner().run(agent, 'Go.')).rejects.toThrow('The session of this run is unknown');
  expect(execute).not.toHaveBeenCalled();
});
