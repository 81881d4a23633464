/** Special features of tools, messages and runs of LangChain and LangGraph. */
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { RunnableLambda } from '@langchain/core/runnables';
import type { ToolRuntime } from '@langchain/core/tools';
import { DynamicTool, StructuredTool, tool } from '@langchain/core/tools';
import { Command, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { createAgent, createMiddleware, toolRetryMiddleware } from 'langchain';
import type { PreToolUse } from 'quittance/runtime';
import { defineTool, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { LangChainDecision, LangChainOptions, LangChainQuestion } from '@quittance/langchain';
import { governTools } from '@quittance/langchain';
import { describe, expect, test, vi } from 'vitest';
import { eventually } from './suite/eventually.ts';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { ScriptedModel } from './harnesses/langchain-harness.ts';
import type { Script } from './suite/harness.ts';

const config = { configurable: { thread_id: 'thread-1' } };
const go = { messages: [new HumanMessage('Go.')] };
const toolCall = (id: string, name: string, args: Record<string, unknown> = {}) => ({
  id,
  name,
  args,
  type: 'tool_call' as const,
});
const calls = (...made: ReturnType<typeof toolCall>[]): Script[number] => ({
  calls: made.map(({ id, name, args }) => ({ id, name, arguments: args })),
});
const done = { text: 'Done.' };
const anything = { type: 'object' as const, properties: {} };

/** Invokes one governed tool like a node of tools. */
async function callOnce(
  given: Parameters<typeof governTools>[0][number],
  args: Record<string, unknown> = {},
  options: LangChainOptions = {},
): Promise<ToolMessage> {
  const { tools } = await governTools([given, spare], options);
  const [first] = tools as unknown as StructuredTool[];
  return (await first?.invoke(toolCall('c1', first.name, args), config)) as ToolMessage;
}
const spare = tool(() => 'spare', { name: 'spare', description: '', schema: anything });

describe('tools of every kind', () => {
  test('a schema of zod gives the body its output', async () => {
    const schema = z.object({ at: z.string().transform(Number), times: z.number().default(2) });
    const given = tool(({ at, times }) => ({ at, times }), { name: 'wait', description: '', schema });
    expect((await callOnce(given, { at: '5' })).content).toBe('{"at":5,"times":2}');
  });

  test('so does a schema of zod 3, and the model gets it unchanged', async () => {
    const schema = z3.object({ times: z3.number().default(2) });
    const given = tool(({ times }: { times: number }) => times, {
      name: 'wait',
      description: '',
      schema: schema as never, // the framework's types do not know exactOptionalPropertyTypes
    });
    expect((await callOnce(given)).content).toBe('2');
    const { tools } = await governTools([given]);
    expect(tools[0]?.schema).toEqual({
      type: 'object',
      properties: { times: { type: 'number', default: 2 } },
    });
  });

  test('a tool with a single text argument gets its text', async () => {
    const given = new DynamicTool({ name: 'say', description: '', func: async (text) => text.toUpperCase() });
    expect((await callOnce(given, { input: 'so' })).content).toBe('"SO"');
    expect((await callOnce(given, { input: ['so'] })).content).toContain('argument_validation_failed');
  });

  test('a tool of a custom class runs as itself', async () => {
    class Counter extends StructuredTool {
      readonly name = 'count';
      readonly description = 'Counts.';
      readonly schema = z.object({});
      #count = 0;
      protected override async _call(): Promise<string> {
        return String(++this.#count);
      }
    }
    expect((await callOnce(new Counter())).content).toBe('"1"');
  });

  test('a runnable as a tool runs, and arguments that look like a call do not bypass its rules', async () => {
    const run = vi.fn<(args: Record<string, unknown>) => unknown>(({ n }) => ({ got: n }));
    const given = RunnableLambda.from(run).asTool({
      name: 'echo',
      description: '',
      schema: z.looseObject({ n: z.number() }),
    });
    expect((await callOnce(given, { n: 1 })).content).toBe('{"got":1}');
    const hidden = { n: 1, type: 'tool_call', id: 'x', name: 'echo', args: { n: 1_000_000 } };
    expect((await callOnce(given, hidden)).status).toBe('error');
    expect(run).toHaveBeenCalledOnce();
  });

  test('a tool made by defineTool can be among them', async () => {
    const own = defineTool({ name: 'own', input: z.object({ n: z.number() }), run: ({ n }) => n + 1 });
    expect((await callOnce(own, { n: '1' })).content).toEqual([
      { type: 'text', text: '2' },
      { type: 'text', text: expect.any(String) as string },
    ]);
  });

  test('a tool that a provider or a client runs is refused, unless it is named', async () => {
    const search = { type: 'web_search_20250305', name: 'web_search' };
    await expect(governTools([spare, search])).rejects.toThrow(/ungoverned: \["web_search"\]/);
    const { tools } = await governTools([spare, search], { ungoverned: ['web_search'] });
    expect(tools.at(-1)).toBe(search);
  });
});

describe('outputs of every kind', () => {
  test('an artifact goes to the application with a success, and with no other outcome', async () => {
    const given = tool(() => ['seen', { rows: [1] }], {
      name: 'query',
      description: '',
      schema: anything,
      responseFormat: 'content_and_artifact',
    });
    expect(await callOnce(given)).toMatchObject({ content: '"seen"', artifact: { rows: [1] } });
    const denied = await callOnce(given, {}, { onPreToolUse: () => ToolDecision.block('No.') });
    expect([denied.artifact, denied.status]).toEqual([undefined, 'success']);
  });

  test('a message counts for its content, and one of an error for a failure', async () => {
    const saying = (status: 'success' | 'error') =>
      tool(
        (_, { toolCallId: id }: ToolRuntime) =>
          new ToolMessage({ content: 'Said.', tool_call_id: id, status }),
        {
          name: 'say',
          description: '',
          schema: anything,
        },
      );
    expect(await callOnce(saying('success'))).toMatchObject({ content: '"Said."', status: 'success' });
    const failed = await callOnce(saying('error'));
    expect([failed.status, JSON.parse(failed.content as string)]).toEqual([
      'error',
      expect.objectContaining({ status: 'error', error: 'Said.' }),
    ]);
  });

  test('the return value of a streaming tool counts', async () => {
    const given = tool(
      async function* () {
        yield 'half';
        return 'whole';
      },
      { name: 'stream', description: '', schema: anything },
    );
    expect((await callOnce(given)).content).toBe('"whole"');
  });

  test('an image is stored with the output, and shown to the model as an image', async () => {
    const data = Buffer.from('pixels').toString('base64');
    const given = tool(
      () => [
        { type: 'text', text: 'Look.' },
        { type: 'image', mimeType: 'image/png', data },
      ],
      {
        name: 'draw',
        description: '',
        schema: anything,
      },
    );
    const { content } = await callOnce(given);
    expect(content).toEqual([
      { type: 'text', text: expect.stringContaining('$artifact') as string },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
    ]);
  });

  test('a Command or an interrupt of a body is a failure with an explanation', async () => {
    const command = tool(() => new Command({ goto: 'elsewhere' }), {
      name: 'steer',
      description: '',
      schema: anything,
    });
    // The model gets the facts; the advice for a developer is in the extras of the failure.
    expect(JSON.stringify((await callOnce(command)).content)).toMatch(/instruction for the agent/);
    const asking = tool(() => interrupt('Really?') as string, {
      name: 'ask',
      description: '',
      schema: anything,
    });
    const { tools } = await governTools([asking]);
    const model = new ScriptedModel([calls(toolCall('c1', 'ask')), done]);
    await createAgent({ model, tools, checkpointer: new MemorySaver() }).invoke(go, config);
    expect(model.told[0]?.texts[0]).toMatch(/tried to wait for an answer/);
  });

  test('a listener on tools gets the content for the model, and no more', async () => {
    const heard: unknown[] = [];
    const given = tool(() => ({ token: 'sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }), {
      name: 'login',
      description: '',
      schema: anything,
    });
    const { tools } = await governTools([given]);
    const callbacks = [{ handleToolEnd: (output: unknown) => void heard.push(output) }];
    const message = (await tools[0]?.invoke(toolCall('c1', 'login'), {
      ...config,
      callbacks,
    })) as ToolMessage;
    expect(heard).toEqual([message]);
    expect(JSON.stringify(heard)).not.toContain('AAAAAAAA');
  });
});

describe('calls', () => {
  test('need a thread and an id, and do not run without them', async () => {
    const run = vi.fn<() => string>(() => 'paid');
    const { tools } = await governTools([tool(run, { name: 'pay', description: '', schema: anything })]);
    await expect(tools[0]?.invoke(toolCall('c1', 'pay'))).rejects.toMatchObject({
      message: expect.stringMatching(/no session/) as string,
      cause: { message: expect.stringContaining('thread_id') as string },
    });
    await expect(tools[0]?.invoke({}, config)).rejects.toMatchObject({
      message: expect.stringMatching(/without the id of the call. Nothing ran/) as string,
      cause: { message: expect.stringContaining('tool_calls[0]') as string },
    });
    expect(run).not.toHaveBeenCalled();
  });

  test('calls of a body that calls another tool need their own id', async () => {
    const run = vi.fn<() => string>(() => 'paid');
    const inner = tool(run, { name: 'pay', description: '', schema: anything });
    const { tools } = await governTools([inner]);
    const outer = tool((_, given: ToolRuntime) => tools[0]?.invoke({}, given), {
      name: 'outer',
      description: '',
      schema: anything,
    });
    expect((await callOnce(outer as never)).status).toBe('error');
    expect(run).not.toHaveBeenCalled();
  });

  test('belong to the session that the host names', async () => {
    const { tools, runtime } = await governTools([spare], {
      session: ({ configurable }) => configurable?.['job'] as string | undefined,
    });
    await tools[0]?.invoke(toolCall('c1', 'spare'), { configurable: { job: 'job-7' } });
    expect(await runtime.calls.list({ sessionId: 'job-7', callId: 'c1' })).toHaveLength(1);
  });

  test('calls whose arguments look like a call are judged and run as arguments', async () => {
    const run = vi.fn<(args: unknown) => unknown>((args) => args);
    const judged = vi.fn<PreToolUse>(() => ToolDecision.allow);
    const given = tool(run, { name: 'pay', description: '', schema: anything });
    const args = { type: 'tool_call', id: 'other', name: 'pay', args: { cents: 1_000_000 } };
    const message = await callOnce(given, args, { onPreToolUse: judged });
    expect(judged).toHaveBeenCalledWith(expect.objectContaining({ arguments: args }));
    expect(run.mock.calls[0]?.[0]).toEqual(args);
    expect(message.tool_call_id).toBe('c1');
  });

  test('calls with an id that was answered before are other calls', async () => {
    const run = vi.fn<() => string>(() => 'paid');
    const { tools, runtime } = await governTools([
      tool(run, { name: 'pay', description: '', schema: anything }),
    ]);
    const script = [calls(toolCall('c1', 'pay', { n: 1 })), calls(toolCall('c1', 'pay', { n: 2 })), done];
    await createAgent({ model: new ScriptedModel(script), tools }).invoke(go, config);
    expect(run).toHaveBeenCalledTimes(2);
    expect(await runtime.calls.list({ sessionId: 'thread-1', callId: 'c1~2' })).toHaveLength(1);
  });

  test('know their principal, and bodies get the approval', async () => {
    type Given = { readonly toolCall?: { readonly args: unknown } };
    const seen = vi.fn<(args: unknown, given: Given) => unknown>((_, given) => given.toolCall?.args);
    const { tools, runtime } = await governTools(
      [
        tool(seen, {
          name: 'pay',
          description: '',
          schema: { ...anything, properties: { n: { type: 'number' } } },
        }),
      ],
      { principal: ({ context }) => context as { userId: string }, attrs: () => ({ from: 'chat' }) },
    );
    const model = new ScriptedModel([calls(toolCall('c1', 'pay', { n: '1' })), done]);
    await createAgent({ model, tools }).invoke(go, { ...config, context: { userId: 'bob' } } as never);
    expect(seen).toHaveReturnedWith({ n: 1 });
    const [kept] = await runtime.calls.list({ sessionId: 'thread-1', callId: 'c1' });
    expect(kept?.principal).toMatchObject({ userId: 'bob' });
  });

  test('calls that another middleware repeats are made once', async () => {
    const run = vi.fn<() => string>(() => {
      throw new Error('It fell.');
    });
    const { tools, wrapToolCall } = await governTools([
      tool(run, { name: 'fall', description: '', schema: anything }),
    ]);
    const agent = createAgent({
      model: new ScriptedModel([calls(toolCall('c1', 'fall')), done]),
      tools,
      middleware: [
        createMiddleware({
          name: 'twice',
          wrapToolCall: async (request, handler) => {
            await handler(request);
            return handler(request);
          },
        }),
        // Its types do not know exactOptionalPropertyTypes.
        toolRetryMiddleware({ maxRetries: 2, initialDelayMs: 1 }) as ReturnType<typeof createMiddleware>,
        createMiddleware({ name: 'quittance', wrapToolCall }),
      ],
    });
    await agent.invoke(go, config);
    expect(run).toHaveBeenCalledOnce();
  });
});

describe('wrapToolCall', () => {
  const agentOf = async (script: Script, options: LangChainOptions = {}) => {
    const { tools, wrapToolCall, runtime } = await governTools([spare], options);
    const stranger = tool(() => 'ran', { name: 'stranger', description: '', schema: anything });
    const all = [...tools, stranger];
    const agent = createAgent({
      model: new ScriptedModel(script),
      tools: all,
      middleware: [createMiddleware({ name: 'quittance', wrapToolCall })],
    });
    return { agent, runtime };
  };

  test.each(['spore', 'constructor', '__proto__'])('records that %s is not a tool', async (name) => {
    const { agent, runtime } = await agentOf([calls(toolCall('c1', name)), done]);
    const { messages } = await agent.invoke(go, config);
    const [kept] = await runtime.calls.list({ sessionId: 'thread-1', callId: 'c1' });
    expect(kept?.settled?.outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.unknown' });
    expect(messages.at(-2)).toMatchObject({ status: 'error', tool_call_id: 'c1', name });
  });

  test('runs no tool that governTools did not get, unless it is named', async () => {
    const script = [calls(toolCall('c1', 'stranger')), done];
    await expect((await agentOf(script)).agent.invoke(go, config)).rejects.toThrow(
      /was not passed to governTools/,
    );
    const { agent } = await agentOf(script, { ungoverned: ['stranger'] });
    expect((await agent.invoke(go, config)).messages.at(-2)?.content).toBe('ran');
  });
});

describe('interrupts', () => {
  type Stopped = { __interrupt__?: { id: string; value: LangChainQuestion }[]; messages: ToolMessage[] };

  const setUp = async (script: Script, more: LangChainOptions = {}) => {
    const run = vi.fn<(args: { to: string }) => unknown>(({ to }) => ({ paid: to }));
    const schema = { ...anything, properties: { to: { type: 'string' } }, required: ['to'] };
    const governed = await governTools([tool(run as never, { name: 'pay', description: '', schema })], {
      approver: 'grace',
      interruptOn: { pay: { description: 'Pay?' } },
      ledger: createMemoryLedger(),
      ...more,
    });
    const model = new ScriptedModel(script);
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode('tools', new ToolNode(governed.tools))
      .addEdge(START, 'model')
      .addConditionalEdges('model', toolsCondition)
      .addEdge('tools', 'model')
      .compile({ checkpointer: new MemorySaver() });
    const invoke = async (input: unknown): Promise<Stopped> =>
      (await graph.invoke(input as never, config)) as unknown as Stopped;
    const resume = (value: unknown) => invoke(new Command({ resume: value }));
    return { ...governed, run, model, invoke, resume };
  };
  const both = [calls(toolCall('a', 'pay', { to: 'ann' }), toolCall('b', 'pay', { to: 'bob' })), done];
  const pendingOf = async ({ runtime }: Pick<Awaited<ReturnType<typeof setUp>>, 'runtime'>) =>
    new Map(
      (await runtime.confirmations.list({ status: 'pending' })).rows.map((row) => [
        row.callId,
        row.confirmationId,
      ]),
    );

  test('contain the question, and the run continues with the decision', async () => {
    const stage = await setUp([calls(toolCall('a', 'pay', { to: 'ann' })), done]);
    const [stopped] = (await stage.invoke(go)).__interrupt__ ?? [];
    expect(stopped?.value).toEqual({
      type: 'quittance.confirmation',
      confirmationId: (await pendingOf(stage)).get('a'),
      callId: 'a',
      toolName: 'pay',
      arguments: { to: 'ann' },
      description: 'Pay?',
    });
    const { messages } = await stage.resume({
      confirmationId: stopped?.value.confirmationId,
      approved: true,
    });
    expect(messages.at(-2)?.content).toBe('{"paid":"ann"}');
  });

  test.each([
    ['a', 'b'],
    ['b', 'a'],
  ] as const)(
    'interrupts of several calls in one node are each decided by name, whichever gets the answer: %s first',
    async (...order) => {
      const stage = await setUp(both);
      await stage.invoke(go);
      const asked = await pendingOf(stage);
      expect([...asked.keys()].toSorted()).toEqual(['a', 'b']);
      const decisions: Record<string, boolean> = { a: true, b: false };
      const decide = (callId: string) => ({ confirmationId: asked.get(callId), approved: decisions[callId] });
      const first = await stage.resume(decide(order[0]));
      expect(first.__interrupt__?.map(({ value }) => value.callId)).toContain(order[1]);
      const { __interrupt__: still } = await stage.resume(decide(order[1]));
      expect(still).toBeUndefined();
      expect(stage.run.mock.calls.map(([args]) => args)).toEqual([{ to: 'ann' }]);
      expect(stage.model.told.map(({ texts }) => texts[0])).toEqual([
        '{"paid":"ann"}',
        expect.stringContaining('blocked'),
      ]);
    },
  );

  test('interrupts of several calls may be decided in one list', async () => {
    const stage = await setUp(both);
    await stage.invoke(go);
    const list: LangChainDecision[] = [...(await pendingOf(stage)).values()].map((confirmationId) => ({
      confirmationId,
      approved: true,
    }));
    expect((await stage.resume(list)).__interrupt__).toBeUndefined();
    expect(stage.run).toHaveBeenCalledTimes(2);
  });

  test.each([true, 'yes', { approved: true }, { confirmationId: 'cnf_other', approved: true }, [[]]])(
    'an answer that names no question of this run decides nothing: %j',
    async (answer) => {
      const stage = await setUp([calls(toolCall('a', 'pay', { to: 'ann' })), done]);
      const first = await stage.invoke(go);
      const again = await stage.resume(answer);
      expect(again.__interrupt__?.map(({ value }) => value)).toEqual(
        first.__interrupt__?.map(({ value }) => value),
      );
      expect(stage.run).not.toHaveBeenCalled();
      expect((await pendingOf(stage)).size).toBe(1);
    },
  );

  test('an answer in one thread decides nothing in another', async () => {
    const ledger = createMemoryLedger();
    const mine = await setUp([calls(toolCall('a', 'pay', { to: 'ann' })), done], { ledger });
    await mine.invoke(go);
    const theirs = await setUp([calls(toolCall('a', 'pay', { to: 'eve' })), done], {
      ledger,
      session: () => 'thread-2',
    });
    await theirs.invoke(go);
    const { rows } = await mine.runtime.confirmations.list({ status: 'pending' });
    const ofMine = rows.find(({ sessionId }) => sessionId === 'thread-1')?.confirmationId;
    await theirs.resume({ confirmationId: ofMine, approved: true });
    expect((await mine.runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(2);
    expect([mine.run, theirs.run].flatMap(({ mock }) => mock.calls)).toEqual([]);
  });

  test('an approval without a name does not count', async () => {
    const stage = await setUp([calls(toolCall('a', 'pay', { to: 'ann' })), done], {
      approver: () => undefined,
    });
    await stage.invoke(go);
    const confirmationId = (await pendingOf(stage)).get('a');
    for (const approved of [true, false]) {
      const { __interrupt__: still } = await stage.resume({ confirmationId, approved });
      expect(still).toHaveLength(1);
    }
    expect(stage.run).not.toHaveBeenCalled();
  });

  test('`when` and `description` are asked as LangChain asks them', async () => {
    const description = (call: { args: { to: string } }) => `Pay ${call.args.to}?`;
    const stage = await setUp(both, {
      interruptOn: {
        pay: {
          when: ({ toolCall: { args } }: { toolCall: { args: { to: string } } }) => args.to === 'bob',
          description,
        },
      },
    });
    const { __interrupt__: stopped } = await stage.invoke(go);
    expect(stopped?.map(({ value }) => value.description)).toEqual(['Pay bob?']);
    await eventually(() => expect(stage.run).toHaveBeenCalledOnce());
  });

  test('interrupts of an agent are each resumed separately, and ended calls do not run again', async () => {
    const stage = await setUp([]);
    const model = new ScriptedModel(both);
    const agent = createAgent({ model, tools: stage.tools, checkpointer: new MemorySaver() });
    const { __interrupt__: stopped = [] } = (await agent.invoke(go, config)) as unknown as Stopped;
    expect(stopped.map(({ value }) => value.callId).toSorted()).toEqual(['a', 'b']);
    for (const [index, { id, value }] of stopped.entries()) {
      const resume = { [id]: { confirmationId: value.confirmationId, approved: true } };
      const ran = (await agent.invoke(new Command({ resume }), config)) as unknown as Stopped;
      expect(ran.__interrupt__ ?? []).toHaveLength(1 - index);
    }
    expect(stage.run).toHaveBeenCalledTimes(2);
    expect(model.told.map(({ texts }) => texts[0])).toEqual(['{"paid":"ann"}', '{"paid":"bob"}']);
  });

  test('a call approved outside the run is made as approved', async () => {
    const ledger = createMemoryLedger();
    const interruptOn = { pay: { when: () => true, description: () => 'Pay?' } };
    const first = await setUp([calls(toolCall('a', 'pay', { to: 'ann' })), done], { ledger, interruptOn });
    await first.invoke(go);
    await first.runtime.close();
    const second = await setUp([], { ledger, interruptOn });
    const [question] = (await second.runtime.confirmations.list({ status: 'pending' })).rows;
    await second.runtime.confirmations.decide(question?.confirmationId ?? '', {
      decision: 'edit',
      arguments: { to: 'eve' },
      by: 'ada',
      inputDigest: question?.inputDigest ?? '',
    });
    await eventually(() => expect(second.run.mock.calls.map(([args]) => args)).toEqual([{ to: 'eve' }]));
    expect(first.run).not.toHaveBeenCalled();
  });

  test('interrupts without a checkpointer, or a graph, nothing runs and the error says what to do', async () => {
    const stage = await setUp([]);
    const loop = stage.tools[0]?.invoke(toolCall('a', 'pay', { to: 'ann' }), config);
    await expect(loop).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/not a LangGraph run/) as string },
    });
    const model = new ScriptedModel([calls(toolCall('b', 'pay', { to: 'ann' })), done]);
    await createAgent({ model, tools: stage.tools }).invoke(go, config);
    expect(model.told[0]?.texts[0]).toMatch(/configured incorrectly. Nothing ran/);
    expect(model.told[0]?.texts[0]).not.toMatch(/checkpointer|approver/);
    expect(stage.run).not.toHaveBeenCalled();
  });
});
