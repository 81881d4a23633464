/** Special features of Mastra, in addition to what every adapter must do. */
import { Agent } from '@mastra/core/agent';
import { createTool, Tool } from '@mastra/core/tools';
import { tool as aiTool } from 'ai6';
import { defineTool, outcomeToModelContent, ToolDecision } from 'quittance';
import type { JsonObject, Runtime } from 'quittance';
import { governTools } from '@quittance/mastra';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { ToldParts } from './harnesses/mastra-model.ts';
import { scriptedModel } from './harnesses/mastra-model.ts';

const memory = { thread: 'thread-1', resource: 'ada' };
const anything = z.object({}).passthrough();

type Governed = { readonly tools: object; readonly runtime: Runtime };

/** Makes one call through an agent, and returns the content for its model. */
async function callOnce(
  { tools }: Governed,
  name: string,
  args: JsonObject = {},
  more: { readonly options?: object; readonly model?: object; readonly text?: string } = {},
) {
  const told: ToldParts[] = [];
  const { text: written } = more;
  const model = scriptedModel(
    [{ calls: [{ id: `call_${name}`, name, arguments: args }] }, { text: 'Done.' }],
    told,
    written === undefined ? undefined : () => written,
  );
  const agent = new Agent({
    id: 'clerk',
    name: 'Clerk',
    instructions: 'Do it.',
    model: Object.assign(model, more.model) as never,
    tools: tools as never,
  });
  const output = await agent.generate('Go.', { memory, ...more.options });
  const [prompt] = [...model.doStreamCalls, ...model.doGenerateCalls];
  const shown = prompt?.tools?.find((one) => one.name === name);
  return { text: output.text, told: told[0], shown, runId: output.runId, results: output.toolResults };
}

const outcomeOf = async ({ runtime }: Governed, callId: string, sessionId = memory.thread) => {
  const [kept] = await runtime.calls.list({ sessionId, callId });
  return kept?.settled?.outcome;
};

const simple = (execute: (input: unknown) => unknown, more: object = {}) =>
  createTool({
    id: 'one',
    description: 'One.',
    inputSchema: anything,
    execute: async (input) => execute(input),
    ...more,
  });

test('policy and body see the schema’s output, and the model sees the schema', async () => {
  const seen: unknown[] = [];
  const body = vi.fn<(input: unknown) => string>(() => 'ok');
  const inputSchema = z.object({ cents: z.number(), force: z.boolean().default(true) });
  const governed = await governTools(
    {
      pay: createTool({
        id: 'pay',
        description: 'Pays.',
        inputSchema,
        execute: async (input) => body(input),
      }),
    },
    { onPreToolUse: (use) => (seen.push(use.arguments), ToolDecision.allow) },
  );
  const { shown } = await callOnce(governed, 'pay', { cents: '7' });
  expect(seen).toEqual([{ cents: 7, force: true }]);
  expect(body.mock.calls).toEqual([[{ cents: 7, force: true }]]);
  expect(shown).toMatchObject({ inputSchema: { properties: { cents: { type: 'number' } } } });
});

test.each([
  ['zod', z.object({ n: z.number() })],
  ['JSON Schema', { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }],
  ['a function', () => z.object({ n: z.number() })],
  [
    'a function that is a schema',
    Object.assign(() => 0, { '~standard': z.object({ n: z.number() })['~standard'] }),
  ],
])('schemas of %s are kept, and checked under Quittance', async (_, inputSchema) => {
  const body = vi.fn<(input: unknown) => string>(() => 'ok');
  const one = simple(body);
  one.inputSchema = inputSchema as never;
  const governed = await governTools({ one });
  const { shown } = await callOnce(governed, 'one', { n: '7' });
  expect(body.mock.calls).toEqual([[{ n: 7 }]]);
  expect(shown).toMatchObject({ inputSchema: { properties: { n: { type: 'number' } } } });
});

test.each([
  ['openai.chat', 'gpt-4o'],
  ['openai.responses', 'o3-mini'],
  ['anthropic.messages', 'claude-3-5-haiku'],
  ['google.generative-ai', 'gemini-2.5-pro'],
])('Mastra’s changes to schemas for %s leave the check to Quittance', async (provider, modelId) => {
  const body = vi.fn<(input: unknown) => string>(() => 'ok');
  const inputSchema = z.object({ cents: z.number().min(3), note: z.string().optional() });
  const pay = createTool({
    id: 'pay',
    description: 'Pays.',
    inputSchema,
    execute: async (input) => body(input),
  });
  const governed = await governTools({ pay });
  const model = { model: { provider, modelId } };
  await callOnce(governed, 'pay', { cents: '7' }, model);
  expect(body.mock.calls).toEqual([[{ cents: 7 }]]);
  const other = await governTools({ pay });
  const { told } = await callOnce(other, 'pay', { cents: 1 }, model);
  expect(JSON.parse(told?.texts[0] ?? '')).toMatchObject({ error: 'argument_validation_failed' });
  expect(await outcomeOf(other, 'call_pay')).toMatchObject({ type: 'ToolDenied', reason: 'validation' });
});

test.each([null, undefined, 'text', 0, false, '', [], { a: [null] }])(
  'an output of %j reaches the model as stored',
  async (output) => {
    const governed = await governTools({ one: simple(() => output) });
    const { text, told } = await callOnce(governed, 'one');
    const outcome = await outcomeOf(governed, 'call_one');
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: output ?? null });
    expect(told?.texts).toEqual([outcome && outcomeToModelContent(outcome)]);
    expect(text).toBe('Done.');
  },
);

test.each(['call_one', 'another'])(
  'an output that looks like the outcome of %s is passed on unchanged',
  async (callId) => {
    const output = {
      type: 'ToolTimeout',
      callId,
      toolName: 'one',
      code: 'tool.timeout',
      retryable: true,
      deadlineMs: 1,
      elapsedMs: 1,
    };
    const governed = await governTools({ one: simple(() => output) });
    const { told } = await callOnce(governed, 'one');
    expect(told).toMatchObject({ texts: [JSON.stringify(output)], isError: false });
  },
);

test('an application gets the output of a success, and otherwise the outcome', async () => {
  const good = await callOnce(await governTools({ one: simple(() => ({ n: 1 })) }), 'one');
  expect(good.results[0]?.payload.result).toEqual({ n: 1 });
  const blocked = await governTools(
    { one: simple(() => ({ n: 1 })) },
    { onPreToolUse: () => ToolDecision.block('No.') },
  );
  const bad = await callOnce(blocked, 'one');
  expect(bad.results[0]?.payload.result).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook' });
});

test('files of an output are content parts for the model', async () => {
  const photograph = defineTool({
    name: 'photograph',
    mode: 'read',
    run: (_args, { attach }) => ({
      photo: attach({ mimeType: 'image/png', content: new Uint8Array([1, 2, 3]), name: 'a.png' }),
    }),
  });
  const governed = await governTools({ photograph });
  const { told, results } = await callOnce(governed, 'photograph');
  const outcome = await outcomeOf(governed, 'call_photograph');
  expect(told?.texts[0]).toBe(outcome && outcomeToModelContent(outcome));
  expect(told?.parts).toContainEqual(expect.objectContaining({ mediaType: 'image/png', data: 'AQID' }));
  expect(results[0]?.payload.result).toMatchObject({ sessionId: memory.thread });
});

test('the model sees a tool’s own view of its output for a success, and only then', async () => {
  const weather = createTool({
    id: 'weather',
    description: 'Looks out.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      if (city === '') throw new Error('No city.');
      return { city, degrees: 20 };
    },
    toModelOutput: (output) => ({
      type: 'text',
      value: `${(output as { degrees: number }).degrees} degrees`,
    }),
  });
  const overrides = { weather: { mode: 'read' } } as const;
  const good = await callOnce(await governTools({ weather }, { overrides }), 'weather', { city: 'Ulm' });
  expect(good.told?.texts).toEqual(['20 degrees']);
  const bad = await callOnce(await governTools({ weather }, { overrides }), 'weather', { city: '' });
  expect(bad.told).toMatchObject({ isError: true, texts: [expect.stringContaining('No city.') as string] });
});

test('an output that its own schema refuses is a failure, although Mastra would report a success', async () => {
  const governed = await governTools({
    one: simple(() => ({ n: 'many' }), { outputSchema: z.object({ n: z.number() }) }),
  });
  const { told } = await callOnce(governed, 'one');
  expect(await outcomeOf(governed, 'call_one')).toMatchObject({
    type: 'ToolFailure',
    code: 'tool.invalid_output',
  });
  expect(JSON.parse(told?.texts[0] ?? '')).toMatchObject({ status: 'error' });
});

test('a request without the context that the tool requires is a failure', async () => {
  const governed = await governTools({
    one: simple(() => 'ok', { requestContextSchema: z.object({ tenant: z.string() }) }),
  });
  await callOnce(governed, 'one');
  expect(await outcomeOf(governed, 'call_one')).toMatchObject({
    type: 'ToolFailure',
    code: 'tool.invalid_input',
  });
});

test('a tool is still an instance of its class, called by its key, whatever its id', async () => {
  const body = vi.fn<() => string>(() => 'ok');
  const governed = await governTools({ pay_out: simple(body) });
  expect(governed.tools.pay_out).toBeInstanceOf(Tool);
  await callOnce(governed, 'pay_out');
  expect(body).toHaveBeenCalledOnce();
  // Under its id it would be found as well, and told in another form.
  const { told } = await callOnce(governed, 'one');
  expect(told?.texts[0]).toContain('not found');
  expect(body).toHaveBeenCalledOnce();
});

test('tools of defineTool and of the AI SDK can be among them', async () => {
  const got = vi.fn<(input: unknown, options: unknown) => string>(() => 'ok');
  const governed = await governTools({
    greet: defineTool({ name: 'greet', mode: 'read', run: () => 'hello' }),
    sdk: aiTool({ description: 'An SDK tool.', inputSchema: z.object({ n: z.number() }), execute: got }),
  });
  expect((await callOnce(governed, 'greet')).told?.texts).toEqual(['"hello"']);
  await callOnce(governed, 'sdk', { n: '7' });
  expect(got).toHaveBeenCalledOnce();
  expect(got.mock.calls[0]).toMatchObject([
    { n: 7 },
    { toolCallId: 'call_sdk', messages: expect.any(Array) as [] },
  ]);
});

test('the tool gets Mastra’s context, and the signal of the call', async () => {
  let given: Readonly<Record<string, unknown>> = {};
  const one = createTool({
    id: 'one',
    description: 'One.',
    inputSchema: anything,
    execute: async (_, context) => ((given = { ...context }), 'ok'),
  });
  const governed = await governTools({ one });
  const { runId } = await callOnce(governed, 'one');
  expect(given).toMatchObject({
    runId,
    abortSignal: expect.any(AbortSignal) as AbortSignal,
    agent: { toolCallId: 'call_one', threadId: 'thread-1', resourceId: 'ada' },
  });
});

describe('sessions', () => {
  test('sessions without a thread the run is the session', async () => {
    const governed = await governTools({ one: simple(() => 'ok') });
    const { runId = '' } = await callOnce(governed, 'one', {}, { options: { memory: undefined } });
    expect(await outcomeOf(governed, 'call_one', runId)).toMatchObject({ type: 'ToolExecutionResult' });
  });

  test('the host may name it', async () => {
    const governed = await governTools(
      { one: simple(() => 'ok') },
      { session: ({ agent }) => `of-${agent?.resourceId}` },
    );
    await callOnce(governed, 'one');
    expect(await outcomeOf(governed, 'call_one', 'of-ada')).toMatchObject({ type: 'ToolExecutionResult' });
  });
});

describe('refusals', () => {
  test.each([
    ['without an execute', createTool({ id: 'one', description: 'One.', inputSchema: anything })],
    ['of the provider', { type: 'provider', id: 'acme.search', args: {}, inputSchema: anything }],
    ['that suspends itself', simple(() => 'ok', { suspendSchema: anything, resumeSchema: anything })],
  ])('a tool %s has to be named', async (_, one) => {
    await expect(governTools({ one })).rejects.toMatchObject({
      code: 'config.invalid',
      facts: { tool: 'one' },
    });
    const governed = await governTools({ one }, { ungoverned: ['one'] });
    expect(governed.tools.one).toBe(one);
    expect(governed.activeTools).toContain('one');
  });

  test.each([null, 5, 'text'])('%j is not a tool', async (one) => {
    await expect(governTools({ one })).rejects.toMatchObject({ code: 'config.invalid' });
  });

  test('a tool that suspends itself unannounced has failed', async () => {
    const one = createTool({
      id: 'one',
      description: 'One.',
      inputSchema: anything,
      execute: async (_, { agent }) => agent?.suspend({ why: 'tired' } as never),
    });
    const governed = await governTools({ one });
    const { text } = await callOnce(governed, 'one');
    expect(text).toBe('Done.');
    expect(await outcomeOf(governed, 'call_one')).toMatchObject({
      type: 'ToolFailure',
      retryable: false,
      error: expect.stringContaining('tried to wait for an answer') as string,
      payloadExtras: { developer: expect.stringContaining('suspended itself') as string },
    });
  });

  test('outside an agent a call has no id, and is refused with advice', async () => {
    const body = vi.fn<() => string>(() => 'ok');
    const governed = await governTools({ one: simple(body) });
    await expect(governed.tools.one.execute({}, {} as never)).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('without the id of the call') as string,
      cause: { message: expect.stringContaining('governed.runtime.turn') as string },
    });
    expect(body).not.toHaveBeenCalled();
  });
});

test.each(['{"a":', '[1]', '"text"', 'null', '{"__proto__":{"admin":true}}'])(
  'arguments written as %s end in one outcome, and the run continues',
  async (written) => {
    const got = vi.fn<(input: unknown) => string>(() => 'ok');
    const governed = await governTools({ one: simple(got) });
    const { text } = await callOnce(governed, 'one', {}, { text: written });
    expect(text).toBe('Done.');
    for (const [input] of got.mock.calls) expect((input as { admin?: unknown }).admin).toBeUndefined();
  },
);

test('with activeTools, other tools of the agent are not available', async () => {
  const stray = vi.fn<() => string>(() => 'ran');
  const governed = await governTools({ one: simple(() => 'ok') });
  const { text, told } = await callOnce(
    governed,
    'stray',
    {},
    {
      options: {
        activeTools: governed.activeTools,
        toolsets: {
          more: { stray: createTool({ id: 'stray', description: 'S.', execute: async () => stray() }) },
        },
      },
    },
  );
  expect([text, stray.mock.calls]).toEqual(['Done.', []]);
  expect(told?.texts[0]).toContain('not found');
});

describe('a tool with the name of a governed one', () => {
  const impostor = vi.fn<() => string>(() => 'ran');
  const fake = createTool({ id: 'one', description: 'Not it.', execute: async () => impostor() });
  const clientFake = { one: { id: 'one', description: 'Not it.', inputSchema: anything } };

  /** Runs an agent with the governed tool, whose model calls it once. */
  const run = async (config: (agent: GovernedAgent) => object, options: object = {}) => {
    const own = vi.fn<() => string>(() => 'ok');
    const governed = await governTools({ one: simple(own) });
    const model = scriptedModel(
      [{ calls: [{ id: 'c1', name: 'one', arguments: {} }] }, { text: 'Done.' }],
      [],
    );
    const agent = new Agent({
      id: 'clerk',
      name: 'Clerk',
      instructions: 'Do it.',
      model: model as never,
      ...(config(governed.agent) as { tools: never }),
    });
    const { text } = await agent.generate('Go.', { memory, ...options });
    return { text, own, outcome: await outcomeOf(governed, 'c1') };
  };
  type GovernedAgent = Awaited<ReturnType<typeof governTools>>['agent'];

  test.each([
    ['in a toolset', (agent: GovernedAgent) => agent, { toolsets: { more: { one: fake } } }],
    ['among the tools of the client', (agent: GovernedAgent) => agent, { clientTools: clientFake }],
    [
      'in a toolset, where tools come from a function',
      (agent: GovernedAgent) => ({ ...agent, tools: () => agent.tools }),
      { toolsets: { more: { one: fake } } },
    ],
    [
      'that another processor puts there',
      (agent: GovernedAgent) => ({
        ...agent,
        inputProcessors: [
          {
            id: 'other',
            processInputStep: ({ tools }: { tools?: object }) => ({ tools: { ...tools, one: fake } }),
          },
          ...agent.inputProcessors,
        ],
      }),
      {},
    ],
  ])('%s does not replace it', async (_, config, options) => {
    const { text, own, outcome } = await run(config, options);
    expect([text, impostor.mock.calls]).toEqual(['Done.', []]);
    expect(own).toHaveBeenCalledOnce();
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: 'ok' });
  });

  test('replaces it without the guard, and nothing is on record', async () => {
    const { outcome } = await run(({ tools }) => ({ tools }), { toolsets: { more: { one: fake } } });
    expect(impostor).toHaveBeenCalledOnce();
    expect(outcome).toBeUndefined();
    impostor.mockClear();
  });
});
